"""Circuits wired together, whose outputs depend on their state alone: each clock all outputs, all wires, all states."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from .circuit cimport Circuit
from .circuit import aligned_words

cdef enum:
    CHUNK = 4096  # clocks between two looks for Ctrl-C
    ROW = -1  # in place of a part: the row of the whole


cdef class Assembly:
    """Parts and their wires.

    circuits: state-only Circuits. in_words, out_words: of a row of the whole. moves_out, moves_in, wires: arrays int64
    [n, 6] of (part, word, copy) of the source and of the target; part -1 is the row, copy -1 all copies, each from its
    own if the source has -1 too. watched: a list a part, or None for one that is never skipped, of int64
    (0 input or 1 output, part, word).
    """

    def __init__(self, list circuits, int in_words, int out_words, const int64_t[:, ::1] moves_out,
                 const int64_t[:, ::1] moves_in, const int64_t[:, ::1] wires, list watched):
        cdef int64_t i, part, word, spans = 0
        cdef Circuit circuit
        self.circuits = circuits
        self.in_words = in_words
        self.out_words = out_words
        self.n_parts = len(circuits)
        self.row_in = aligned_words(in_words)
        self.row_out = aligned_words(out_words)
        self.part_room = aligned_words(self.n_parts * sizeof(Part) // sizeof(uint64_t) + 1)
        self.parts = <Part*>&self.part_room[0]
        self.from_row = moves_out.shape[0]
        self.wires = self.from_row + moves_in.shape[0]
        self.n_moves = self.wires + wires.shape[0]
        self.move_room = aligned_words(self.n_moves * sizeof(Move) // sizeof(uint64_t) + 1)
        self.moves = <Move*>&self.move_room[0]
        spans = sum(len(own) for own in watched if own)
        self.span_room = aligned_words(spans * sizeof(Span) // sizeof(uint64_t) + 1)
        self.watched = <Span*>&self.span_room[0]
        spans = 0
        for i in range(self.n_parts):
            circuit = circuits[i]
            if not circuit.state_only:
                raise ValueError(f"part {i} has outputs that depend on its inputs in the same clock")
            self.parts[i].advance = circuit.advance_function
            self.parts[i].outputs = circuit.outputs_function
            self.parts[i].state = &circuit.state[0]
            self.parts[i].inputs = &circuit.inputs[0]
            self.parts[i].shown = &circuit.outputs[0]
            self.parts[i].changed = True
            self.parts[i].first_watched = spans
            for kind, part, word in watched[i] or ():
                circuit = circuits[part]
                self.watched[spans].words = (
                    &circuit.outputs[word * circuit.columns] if kind else &circuit.inputs[word * circuit.columns]
                )
                self.watched[spans].count = circuit.copies
                spans += 1
            self.parts[i].end_watched = spans
        for i in range(self.n_moves):
            self.place(i, moves_out[i] if i < self.from_row else
                       moves_in[i - self.from_row] if i < self.wires else wires[i - self.wires])

    def place(self, int64_t i, const int64_t[::1] move):
        """Where move i takes its words and where it puts them."""
        cdef Circuit source, target
        cdef int64_t place, copies = 1
        if move[0] == ROW:
            self.moves[i].source = &self.row_in[move[1]]
            self.moves[i].alike = True
        else:
            source = self.circuits[move[0]]
            place = move[1] * source.columns + max(move[2], 0)
            self.moves[i].source = &source.outputs[place]
            self.moves[i].alike = move[2] != -1
        if move[3] == ROW:
            self.moves[i].target = &self.row_out[move[4]]
        else:
            target = self.circuits[move[3]]
            copies = target.copies if move[5] == -1 else 1
            self.moves[i].target = &target.inputs[move[4] * target.columns + max(move[5], 0)]
        self.moves[i].count = copies

    def touched(self):
        """Somebody changed the state of parts: what they show is out of date."""
        cdef int64_t i
        for i in range(self.n_parts):
            self.parts[i].changed = True

    def skipped(self):
        """Clocks in which each part was skipped, so far."""
        cdef int64_t i
        return [self.parts[i].skipped for i in range(self.n_parts)]

    def run(self, const uint64_t[:, ::1] inputs, uint64_t[:, ::1] outputs, bint skip=True, progress=None):
        """One clock a row, at most until an assertion breaks.

        inputs: [clocks, in_words]; outputs: [clocks, out_words], filled. skip: leave out parts that are quiet.
        progress: called with the clocks made since the last call. Returns (clocks made, 0 or what a function of the
        last clock said: see circuit.pxd, the part that said it).
        Raises ValueError where the arrays do not fit.
        """
        cdef int64_t clocks = inputs.shape[0], made = 0, now, failed = 0, broken = 0
        if inputs.shape[1] != self.in_words or outputs.shape[0] != clocks or outputs.shape[1] != self.out_words:
            raise ValueError(f"inputs have {inputs.shape[1]} words, outputs {outputs.shape[1]}")
        self.touched()
        while made < clocks and failed == 0:
            now = min(CHUNK, clocks - made)
            with nogil:
                now = self.run_rows(&inputs[made, 0], &outputs[made, 0], now, skip, &failed, &broken)
            made += now
            PyErr_CheckSignals()
            if progress is not None:
                progress(now)
        return made, failed, broken

    cdef int64_t run_rows(self, const uint64_t* rows, uint64_t* made, int64_t clocks, bint skip,
                          int64_t* failed, int64_t* broken) noexcept nogil:
        """Clocks made; fewer than asked for after a broken assertion."""
        cdef int64_t t
        for t in range(clocks):
            self.show()
            memcpy(made + t * self.out_words, &self.row_out[0], self.out_words * sizeof(uint64_t))
            memcpy(&self.row_in[0], rows + t * self.in_words, self.in_words * sizeof(uint64_t))
            failed[0] = self.advance(skip, broken)
            if failed[0]:
                return t + 1
        return clocks

    cdef void show(self) noexcept nogil:
        """`row_out`, and all outputs of the parts, from the state."""
        cdef int64_t i
        for i in range(self.n_parts):
            if self.parts[i].changed:
                self.parts[i].outputs(self.parts[i].state, self.parts[i].shown)
                self.parts[i].changed = False
        for i in range(self.from_row):
            self.moves[i].target[0] = self.moves[i].source[0]

    cdef int64_t advance(self, bint skip, int64_t* broken) noexcept nogil:
        """To the next clock, from `row_in` and what `show` made; 0, or what a broken assertion says."""
        cdef int64_t i, c, said, failed = 0
        for i in range(self.from_row, self.n_moves):
            if self.moves[i].count == 1:
                self.moves[i].target[0] = self.moves[i].source[0]
            elif self.moves[i].alike:
                for c in range(self.moves[i].count):
                    self.moves[i].target[c] = self.moves[i].source[0]
            else:
                for c in range(self.moves[i].count):
                    self.moves[i].target[c] = self.moves[i].source[c]
        for i in range(self.n_parts):
            if skip and self.quiet(i):
                self.parts[i].skipped += 1
                continue
            said = self.parts[i].advance(self.parts[i].state, self.parts[i].inputs)
            self.parts[i].changed = True
            if said and not failed:
                failed = said
                broken[0] = i
        return failed

    cdef bint quiet(self, int64_t part) noexcept nogil:
        cdef int64_t i, c, first = self.parts[part].first_watched, end = self.parts[part].end_watched
        cdef uint64_t some = 0
        if first == end:
            return False
        for i in range(first, end):
            for c in range(self.watched[i].count):
                some |= self.watched[i].words[c]
        return some == 0
