"""Names of wires as Verilog takes them: legal, readable, each given once."""

from __future__ import annotations

import re
from collections.abc import Iterable

# PyRTL's own names of what nobody named; a scope may stand before them
TEMPORARY = re.compile(r"(^|/)(tmp\d+|const_\d+_\w*)$")
LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Verilog 2005 and SystemVerilog 2017, since simulators may read a .v as the latter
WORDS = """
accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin
bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos
config const constraint context continue cover covergroup coverpoint cross deassign default defparam design
disable dist do edge else end endcase endchecker endclass endclocking endconfig endfunction endgenerate
endgroup endinterface endmodule endpackage endprimitive endprogram endproperty endsequence endspecify
endtable endtask enum event eventually expect export extends extern final first_match for force foreach
forever fork forkjoin function generate genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins
implements implies import incdir include initial inout input inside instance int integer interconnect
interface intersect join join_any join_none large let liblist library local localparam logic longint
macromodule matches medium modport module nand negedge nettype new nexttime nmos nor noshowcancelled not
notif0 notif1 null or output package packed parameter pmos posedge primitive priority program property
protected pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase
randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0
rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal
showcancelled signed small soft solve specify specparam static string strong strong0 strong1 struct super
supply0 supply1 sync_accept_on sync_reject_on table tagged task this throughout time timeprecision timeunit
tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union unique unique0 unsigned until
until_with untyped use uwire var vectored virtual void wait wait_order wand weak weak0 weak1 while wildcard
wire with within wor xnor xor
"""
KEYWORDS = frozenset(WORDS.split())


def is_temporary(name: str) -> bool:
    """Whether PyRTL made the name up."""
    return TEMPORARY.search(name) is not None


def is_legal(name: str) -> bool:
    """Whether Verilog takes the name as it is."""
    return LEGAL.fullmatch(name) is not None and name not in KEYWORDS


class Names:
    """Gives each wire its name in Verilog: `lane/hazard` becomes `lane__hazard`.

    `taken` are names that must stay as they are: ports, clock and reset.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)

    def of(self, wire: str) -> str:
        """The name of a wire that a builder named."""
        name = re.sub(r"[^A-Za-z0-9_]", "_", wire.replace("/", "__"))
        if not is_legal(name):
            name = f"{name}_" if name in KEYWORDS else f"_{name}"
        if name in self._taken:
            return self.part(name)
        self._taken.add(name)
        return name

    def part(self, owner: str) -> str:
        """A name for a nameless part of what makes `owner`: `owner_1`, `owner_2`, ..."""
        number = 1
        while f"{owner}_{number}" in self._taken:
            number += 1
        self._taken.add(f"{owner}_{number}")
        return f"{owner}_{number}"
