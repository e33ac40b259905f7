"""Placement is a bijection, keeps vectors whole, and refuses by name what does not fit."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recnmp.address import AddressMap, DramAddresses
from recnmp.config.load import load_system, parse_setting
from recnmp.config.order import PARTS
from recnmp.config.system import SystemConfig
from recnmp.errors import RecnmpError
from recnmp.pages import PagePermutation, splitmix
from recnmp.placement import Lines, Placement

ORDER = ("Ch", "Ra", "Bg", "Ba", "Ro", "Co")


@dataclass(frozen=True)
class Rows:
    """A table, as far as placement looks at it."""

    name: str
    rows: int
    row_bytes: int


def system(name: str = "recnmp-base", **placement: object) -> SystemConfig:
    return load_system(name).model_copy(
        update={"placement": load_system(name).placement.model_copy(update=placement)}
    )


def configured(*words: str, name: str = "host") -> SystemConfig:
    return load_system(name, (), [parse_setting(word, []) for word in words])


def columns(places: DramAddresses | Lines) -> np.ndarray:
    names = ("channel", "rank", "bankgroup", "bank", "row", "column")
    return np.stack([getattr(places, name) for name in names], axis=1)


# -- pages


@given(st.integers(1, 5000), st.integers(0, 2**63 - 1), st.integers(0, 100))
def test_pages_are_permuted(pages: int, seed: int, stream: int) -> None:
    permuted = PagePermutation(pages, seed, stream)(np.arange(pages))
    assert permuted.dtype == np.int64
    assert np.array_equal(np.sort(permuted), np.arange(pages))


@given(st.integers(1, 2**40), st.integers(0, 2**63 - 1))
def test_pages_of_large_memories_do_not_collide(pages: int, seed: int) -> None:
    logical = np.unique(np.linspace(0, pages - 1, 999, dtype=np.int64))
    permuted = PagePermutation(pages, seed)(logical)
    assert permuted.min() >= 0
    assert permuted.max() < pages
    assert np.unique(permuted).size == logical.size


def test_pages_look_random() -> None:
    pages, bins = 1 << 20, 64
    permuted = PagePermutation(pages, 7)(np.arange(1 << 16))
    counts = np.bincount(permuted // (pages // bins), minlength=bins)
    expected = (1 << 16) / bins
    chi_square = float(((counts - expected) ** 2).sum() / expected)
    # 63 degrees of freedom: mean 63, deviation 11.2; ten deviations either way
    assert 0 < chi_square < 63 + 112
    # neighbours do not stay neighbours
    assert np.mean(np.abs(np.diff(permuted)) < 64) < 0.01


def test_seeds_and_streams_give_other_pages() -> None:
    logical = np.arange(1000)
    base = PagePermutation(1 << 20, 1)(logical)
    for other in (PagePermutation(1 << 20, 2), PagePermutation(1 << 20, 1, stream=1)):
        assert np.mean(other(logical) == base) < 0.01


def test_splitmix_gives_its_published_words() -> None:
    # the first words of splitmix64 from state 0, as every implementation has them
    assert splitmix(0) == 0xE220A8397B1DCDAF
    assert splitmix(0x9E3779B97F4A7C15) == 0x6E789E6AA1B965F4


# -- mapping

_SIZES = st.fixed_dictionaries({part: st.integers(1, 5) for part in ORDER})


@given(st.permutations(list(PARTS)), _SIZES)
def test_plain_orders_are_bijections_of_any_sizes(parts: list[str], sizes: dict[str, int]) -> None:
    mapping = AddressMap("".join(parts), sizes)
    assert mapping.lines == prod(sizes.values())
    places = columns(mapping.locate(np.arange(mapping.lines)))
    everywhere = set(product(*(range(sizes[part]) for part in ORDER)))
    assert set(map(tuple, places.tolist())) == everywhere
    # naive: the digits of the line number, lowest part first
    for line in range(0, mapping.lines, 7):
        rest, digits = line, {}
        for part in reversed(parts):
            rest, digits[part] = divmod(rest, sizes[part])
        assert places[line].tolist() == [digits[part] for part in ORDER]


_POWERS = st.fixed_dictionaries(
    {"Ch": st.just(1)}
    | {part: st.sampled_from([1, 2, 4]) for part in ("Ra", "Bg", "Ba")}
    | {"Ro": st.just(64), "Co": st.sampled_from([2, 8])}
)


@settings(max_examples=50)
@given(_POWERS)
def test_the_hash_is_a_bijection(sizes: dict[str, int]) -> None:
    mapping = AddressMap("skylake", sizes)
    places = columns(mapping.locate(np.arange(mapping.lines)))
    assert len(set(map(tuple, places.tolist()))) == mapping.lines
    assert (places.max(axis=0) == [sizes[part] - 1 for part in ORDER]).all()


@settings(max_examples=50)
@given(st.sampled_from(["skylake", "RoBaRaCoCh", "RaRoBaCoCh"]), _POWERS)
def test_the_lines_of_a_rank_are_those_of_the_whole(name: str, sizes: dict[str, int]) -> None:
    mapping = AddressMap(name, sizes)
    whole = columns(mapping.locate(np.arange(mapping.lines)))
    for rank in range(sizes["Ra"]):
        own = columns(mapping.locate_in_rank(np.arange(mapping.rank_lines), 0, rank))
        assert np.array_equal(own, whole[whole[:, 1] == rank])


@given(st.data())
def test_every_place_has_its_line_back(data: st.DataObject) -> None:
    if data.draw(st.booleans()):
        mapping = AddressMap("skylake", data.draw(_POWERS))
    else:
        mapping = AddressMap("".join(data.draw(st.permutations(list(PARTS)))), data.draw(_SIZES))
    lines = np.arange(mapping.lines)
    assert np.array_equal(mapping.number(mapping.locate(lines)), lines)
    channel = data.draw(st.integers(0, mapping.sizes["Ch"] - 1))
    rank = data.draw(st.integers(0, mapping.sizes["Ra"] - 1))
    places = mapping.locate_in_rank(np.arange(mapping.rank_lines), channel, rank)
    own = mapping.number(places)
    assert np.array_equal(columns(mapping.locate(own)), columns(places))
    assert (np.diff(own) > 0).all()  # in address order


@pytest.mark.parametrize(
    ("ranks", "pairs"),
    [(1, [(6, 13), (14, 17), (15, 18), (16, 19)]), (2, [(6, 13), (14, 18), (15, 19), (16, 20), (17, 21)])],
)
def test_the_hash_is_the_published_one(ranks: int, pairs: list[tuple[int, int]]) -> None:
    """Flipping both bits of a pair keeps the bank and the rank; flipping one changes it."""
    sizes = {"Ch": 1, "Ra": ranks, "Bg": 4, "Ba": 4, "Ro": 1 << 16, "Co": 128}
    mapping = AddressMap("skylake", sizes)

    def bank_of(address: int) -> list[int]:
        return columns(mapping.locate(np.array([address >> 6])))[0, 1:4].tolist()

    rng = np.random.Generator(np.random.PCG64(3))
    for address in rng.integers(0, mapping.lines * 64, 50).tolist():
        for low, high in pairs:
            assert bank_of(address ^ 1 << low ^ 1 << high) == bank_of(address)
            assert bank_of(address ^ 1 << low) != bank_of(address)
        untouched = set(range(6, mapping.lines.bit_length() + 5)) - {bit for pair in pairs for bit in pair}
        assert all(bank_of(address ^ 1 << bit) == bank_of(address) for bit in untouched)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["memory.channels=2"], "is known for one channel"),
        (["memory.dimms=3"], "needs powers of two, and there are 6 of rank"),
    ],
)
def test_the_hash_refuses_what_it_does_not_know(words: list[str], complaint: str) -> None:
    with pytest.raises(RecnmpError, match=complaint):
        Placement(configured(*words), [Rows("t", 10, 64)])


# -- tables

_TABLES = st.lists(st.tuples(st.integers(1, 3000), st.integers(1, 300)), min_size=1, max_size=4)


@settings(max_examples=60, deadline=None)
@given(
    _TABLES,
    st.sampled_from(["skylake", "RoBaRaCoCh", "ChRaBaRoCo", "RoRaBaCoCh"]),
    st.sampled_from(["sequential", "random", "coloured"]),
    st.sampled_from(["packed", "aligned"]),
)
def test_rows_never_overlap_nor_straddle(
    shapes: list[tuple[int, int]], mapping: str, pages: str, stride: str
) -> None:
    config = system("host", mapping=mapping, pages=pages, stride=stride)
    tables = [Rows(f"t{i}", rows, size) for i, (rows, size) in enumerate(shapes)]
    placement = Placement(config, tables)
    used: list[np.ndarray] = []
    for number, table in enumerate(tables):
        lines = placement.locate(number, np.arange(table.rows))
        assert placement.stride(number) >= table.row_bytes
        assert placement.stride(number) - table.row_bytes < (4 if stride == "packed" else 64)
        counts = np.bincount(lines.vector, minlength=table.rows)
        assert np.array_equal(counts, (lines.byte_offset + table.row_bytes + 63) // 64)
        assert np.array_equal(lines.vector, np.repeat(np.arange(table.rows), counts))
        first = np.cumsum(counts) - counts
        # one rank a vector; one rank a table when coloured
        assert np.array_equal(lines.rank, lines.rank[first][lines.vector])
        if pages == "coloured":
            assert set(lines.rank.tolist()) == {number % config.memory.ranks}
        # every byte has one owner
        place = columns(lines).astype(np.int64)
        for vector in range(0, table.rows, max(1, table.rows // 40)):
            of_vector = place[first[vector] : first[vector] + counts[vector]]
            bytes_ = np.arange(lines.byte_offset[vector], lines.byte_offset[vector] + table.row_bytes)
            owner = np.concatenate([of_vector[bytes_ // 64], (bytes_ % 64)[:, None]], axis=1)
            used.append(owner)
    everything = np.concatenate(used)
    assert len(np.unique(everything, axis=0)) == len(everything)


def test_a_line_is_where_its_vector_is_first() -> None:
    """256-byte rows in sequential pages: 16 rows a page, 4 lines a row, consecutive columns."""
    config = system("host", mapping="RoBaRaCoCh", pages="sequential")
    lines = Placement(config, [Rows("a", 20, 64), Rows("b", 40, 256)]).locate(1, np.array([0, 1, 16, 17]))
    assert lines.vector.tolist() == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4
    # table a has the first page (columns 0..63), b the second and, in the next DRAM row's worth, the third
    assert lines.column.tolist() == [*range(64, 72), *range(8)]
    assert lines.rank.tolist() == [0] * 8 + [1] * 8


@pytest.mark.parametrize("row_bytes", [40, 72, 136])
def test_packed_rows_touch_as_many_lines_as_design_d7_says(row_bytes: int) -> None:
    placement = Placement(system("host"), [Rows("a", 1000, row_bytes)])
    counts = set(np.bincount(placement.locate(0, np.arange(1000)).vector).tolist())
    assert counts == {40: {1, 2}, 72: {2}, 136: {3}}[row_bytes]


def test_what_does_not_fit_is_refused_with_both_sizes() -> None:
    rank = 8 << 30
    config = system("host", mapping="RoBaRaCoCh")
    assert Placement(config, [Rows("a", 8 * rank // 64, 64)]).locate(0, np.array([8 * rank // 64 - 1]))
    with pytest.raises(RecnmpError, match=f"need {8 * rank + 4096} bytes .* has {8 * rank} bytes"):
        Placement(config, [Rows("a", 8 * rank // 64, 64), Rows("b", 1, 64)])
    coloured = system("host", pages="coloured")
    with pytest.raises(RecnmpError, match=f"need {rank + 4096} bytes .*rank 0 .* has {rank} bytes"):
        Placement(coloured, [Rows("a", rank // 64 + 1, 64)])


def test_every_page_of_a_memory_that_is_no_power_of_two_is_used_once() -> None:
    config = configured("memory.dimms=3", "placement.mapping=RoBaRaCoCh")
    rank = 8 << 30
    placement = Placement(config, [Rows("a", 6 * rank // 4096, 4096)])
    rows = np.unique(np.linspace(0, 6 * rank // 4096 - 1, 20000, dtype=np.int64))
    places = columns(placement.locate(0, rows))
    assert len(np.unique(places, axis=0)) == len(places)
    assert set(places[:, 1].tolist()) == set(range(6))


@pytest.mark.parametrize(
    ("words", "row_bytes", "complaint"),
    [
        (["placement.mapping=RoCoBaRaCh"], 128, "changes ranks every 64 bytes"),
        (["placement.mapping=RoBaRaCoCh", "memory.channels=2"], 128, "changes channels every 64 bytes"),
        (["placement.mapping=RoCoBaRaCh", "placement.pages=coloured"], 64, "spreads a 4 KiB page over ranks"),
        (["placement.mapping=RoCoRaChBaBg", "memory.channels=3"], 1028, "changes channels every 1024 bytes"),
        ([], 4097, "a row takes 4100 bytes, more than a page"),
    ],
)
def test_vectors_that_would_be_torn_are_refused(words: list[str], row_bytes: int, complaint: str) -> None:
    with pytest.raises(RecnmpError, match=complaint):
        Placement(configured(*words), [Rows("t", 10, row_bytes)])


def test_interleaved_lines_are_fine_for_vectors_of_a_line() -> None:
    config = configured("placement.mapping=RoBaRaCoCh", "memory.channels=2", "placement.pages=sequential")
    lines = Placement(config, [Rows("t", 64, 64)]).locate(0, np.arange(64))
    assert lines.channel.tolist() == [0, 1] * 32


@pytest.mark.parametrize("row_bytes", [64, 32, 192, 40, 96])
def test_rows_lie_alike_near_memory_and_for_the_host(row_bytes: int) -> None:
    tables = [Rows("t", 100, row_bytes)]
    both = [columns(Placement(system(*kind), tables).locate(0, np.arange(100))) for kind in (("host",), ())]
    assert np.array_equal(*both)


@pytest.mark.parametrize("row", [-1, 10])
def test_rows_beyond_the_table_are_refused(row: int) -> None:
    placement = Placement(system("host"), [Rows("t", 10, 64)])
    with pytest.raises(RecnmpError, match=f"row {row} at position 2, allowed 0 to 9"):
        placement.locate(0, np.array([0, 9, row]))


def test_no_rows_no_lines() -> None:
    lines = Placement(system("host"), [Rows("t", 10, 64)]).locate(0, np.zeros(0, np.int64))
    assert lines.vector.size == lines.rank.size == lines.byte_offset.size == 0


def test_read_only_and_strided_rows_are_placed_alike() -> None:
    placement = Placement(system("host"), [Rows("t", 1000, 64)])
    rows = np.arange(0, 1000, 2)
    rows.flags.writeable = False
    both = [columns(placement.locate(0, given)) for given in (rows, np.arange(1000)[::2])]
    assert np.array_equal(*both)
