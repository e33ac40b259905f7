"""The plain twin of the generators: Python's whole numbers, one lookup at a time, and PCG64 written out."""

from itertools import islice
from math import isqrt

import numpy as np

MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
MASK64, MASK128 = 2**64 - 1, 2**128 - 1


class Pcg64:
    """PCG XSL-RR 128/64, as published by O'Neill, seeded by NumPy's SeedSequence."""

    def __init__(self, *seed: int) -> None:
        words = [int(word) for word in np.random.SeedSequence(seed).generate_state(4, np.uint64)]
        start, stream = words[0] << 64 | words[1], words[2] << 64 | words[3]
        self.step = (stream << 1 | 1) & MASK128
        self.state = (self.step + start) * MULTIPLIER + self.step & MASK128

    def word(self) -> int:
        self.state = (self.state * MULTIPLIER + self.step) & MASK128
        folded, turn = (self.state >> 64) ^ (self.state & MASK64), self.state >> 122
        return (folded >> turn | folded << (64 - turn)) & MASK64 if turn else folded


def mixed(word: int) -> int:
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & MASK64
    word = (word ^ word >> 27) * 0x94D049BB133111EB & MASK64
    return word ^ word >> 31


def permuted(value: int, n: int, *seed: int) -> int:
    """The image of `value` under the keyed permutation of 0..n-1."""
    generator = Pcg64(*seed)
    keys = [generator.word() for _ in range(6)]
    width = isqrt(n - 1) + 1
    height = -(-n // width)
    while True:
        left, right = divmod(value, height)
        for number, key in enumerate(keys):
            side = height if number % 2 else width
            left, right = right, (left + (mixed(right + key & MASK64) >> 32) * side // 2**32) % side
        value = left * height + right
        if value < n:
            return value


def drawn(groups: list[tuple[int, int]], rows: int, seed: int, table: int, count: int) -> list[int]:
    """`count` lookups of one table by a popularity law of (rows, share) groups."""
    total = sum(number * share for number, share in groups)
    generator = Pcg64(seed, 0, table)
    cells = [generator.word() * total >> 64 for _ in range(count)]
    found = []
    for cell in cells:
        first = 0
        for number, share in groups:
            if cell < number * share:
                break
            cell -= number * share
            first += number
        found.append(permuted(first + cell // share, rows, seed, 4, table))
    return found


def clustered(ids: list[int], words: list[int], threshold: int, gap: int, quantiles: list[int]) -> list[int]:
    """Repeat accesses chained to the one before, window by window of the caller; a window is a ring."""
    chains: list[list[int]] = []
    latest: dict[int, list[int]] = {}
    for at in sorted(range(len(ids)), key=lambda at: (ids[at], at)):
        row, word = ids[at], words[at]
        if row in latest and word >> 32 < threshold:
            latest[row].append(at)
            latest[row].append(word)
        else:
            latest[row] = [at, word]
            chains.append(latest[row])
    placed = []
    for number, chain in enumerate(chains):
        places, own = chain[0::2], chain[1::2]
        at = places[(own[0] // 4096 % 2**20) * len(places) // 2**20] << 16
        for step, word in enumerate(own):
            at += quantiles[word % 4096] * gap if step else 0
            placed.append((at % (len(ids) << 16), number, step, ids[places[0]]))
    return [row for _, _, _, row in sorted(placed)]


def take(generator: Pcg64, count: int) -> list[int]:
    return list(islice(iter(generator.word, None), count))
