"""SteM: build, probe, indexes made late, stamps."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from fff.dataflow.arrays import Int64
from fff.dataflow.store.domains import Domain
from fff.dataflow.store.identity import Answer, Identity
from fff.dataflow.store.stem import ALIAS_BITS, MAX_ALIASES, SteM
from tests.dataflow.blocks import table

PLAN = table("a b:string", scans=1)
ALL = np.ones


def stem_of(*aliases: int, plan=PLAN) -> SteM:
    domains = {number: Domain(field.arrow) for number, field in enumerate(plan.columns)}
    return SteM(plan, aliases or (0,), domains, Identity(plan))


def rows_of(*rows: tuple[int | None, str | None]) -> pa.RecordBatch:
    return pa.record_batch(
        [pa.array([a for a, _ in rows], pa.int32()), pa.array([b for _, b in rows], pa.string())], ["a", "b"]
    )


def build(stem: SteM, rows: pa.RecordBatch, sequence: int = 0, answer: Answer | None = None, **passes):
    masks = {alias: np.array(passes.get(f"a{alias}", [True] * len(rows))) for alias in stem.aliases}
    return stem.build(rows, stem.number(rows), masks, answer or Answer(), sequence)


def probe(stem: SteM, *links: tuple[int, list[object]]) -> list[tuple[int, int]]:
    wanted = [
        (column, stem.domains[column].number(pa.array(values, stem.plan.columns[column].arrow)))
        for column, values in links
    ]
    size = len(links[0][1])
    positions, rows = stem.match(wanted, size)
    bounds = stem.pair_counts(wanted, size)
    assert (np.bincount(positions, minlength=size) <= bounds).all()
    return sorted(zip(positions.tolist(), rows.tolist(), strict=True))


def test_build_then_probe() -> None:
    stem = stem_of()
    stored, sequence = build(stem, rows_of((1, "x"), (2, "y"), (1, "z")))
    assert stored.tolist() == [0, 1, 2]
    assert sequence == 3
    assert stem.sequence.view.tolist() == [1, 2, 3], "sequence numbers start at 1"
    assert probe(stem, (0, [1, 3, 2])) == [(0, 0), (0, 2), (2, 1)]
    assert probe(stem, (0, [1, 1]), (1, ["z", "y"])) == [(0, 2)]


@pytest.mark.parametrize("before", [0, 1, 2])
def test_an_index_made_late_knows_everything(before: int) -> None:
    """The first probe may come before, between or after the builds."""
    stem, sequence = stem_of(), 0
    for number, page in enumerate([rows_of((1, "x"), (None, "y")), rows_of((1, None), (2, "x"))]):
        if number == before:
            probe(stem, (0, [1]))
        _, sequence = build(stem, page, sequence)
    assert probe(stem, (0, [1, 2])) == [(0, 0), (0, 2), (1, 3)]
    assert probe(stem, (1, ["x", "y"])) == [(0, 0), (0, 3), (1, 1)]
    assert sequence == 4


def test_null_matches_nothing() -> None:
    stem = stem_of()
    build(stem, rows_of((None, "x"), (1, "x")))
    assert probe(stem, (0, [None, 1])) == [(1, 1)]
    assert probe(stem, (1, ["x"]), (0, [1])) == [(0, 1)], "nor beside a column that matches"


def test_a_probe_without_link_is_a_product() -> None:
    stem = stem_of()
    build(stem, rows_of((1, "x"), (2, "y")))
    positions, rows = stem.match([], 2)
    assert list(zip(positions.tolist(), rows.tolist(), strict=True)) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert stem.pair_counts([], 2).tolist() == [2, 2]


def test_the_most_selective_index_is_probed() -> None:
    stem = stem_of()
    build(stem, rows_of(*[(1, f"{number}") for number in range(50)]))
    links = [
        (0, stem.domains[0].number(pa.array([1], pa.int32()))),
        (1, stem.domains[1].number(pa.array(["7"]))),
    ]
    assert stem.pair_counts(links, 1).tolist() == [1], "by b, not by a"
    assert probe(stem, (0, [1]), (1, ["7"])) == [(0, 7)]


def test_columns_that_are_selective_only_together_are_probed_together() -> None:
    """A key of two columns with n values each, over n * n rows: by one column every prober would meet n rows."""
    side = 100
    rows = [(number // side, f"{number % side}") for number in range(side * side)]
    stem = stem_of()
    _, sequence = build(stem, rows_of(*rows))

    def links(*wanted: tuple[int | None, str | None]) -> list[tuple[int, Int64]]:
        ints, texts = zip(*wanted, strict=True)
        return [
            (0, stem.domains[0].number(pa.array(ints, pa.int32()))),
            (1, stem.domains[1].number(pa.array(texts, pa.string()))),
        ]

    assert stem.pair_counts(links(*rows), len(rows)).tolist() == [1] * len(rows)
    build(stem, rows_of((7, "8"), (None, "1"), (3, None)), sequence)
    some = links((7, "8"), (None, "1"), (3, None), (500, "1"), (7, "900"))
    assert (stem.exceeds(9, some, 5), stem.exceeds(10, some, 5)) == (True, False)
    assert stem.pair_counts(some, 5).tolist() == [2, 0, 0, 0, 0]
    positions, found = stem.match(some, 5)
    assert sorted(zip(positions.tolist(), found.tolist(), strict=True)) == [(0, 708), (0, side * side)]


def test_rows_no_alias_wants_are_not_stored_but_counted() -> None:
    stem = stem_of()
    stored, sequence = build(stem, rows_of((1, "x"), (2, "y")), 5, a0=[False, True])
    assert stored.tolist() == [0]
    assert sequence == 6
    assert (stem.arrived, len(stem), stem.alias_rows) == (2, 1, {0: 1})
    assert stem.columns[1].take(stored).to_pylist() == ["y"]
    assert build(stem, rows_of((3, "z")), 6, a0=[False])[1] == 6


def test_aliases_share_rows_and_mask_them() -> None:
    stem = stem_of(0, 3)
    build(stem, rows_of((1, "x"), (2, "y"), (3, "z")), a0=[True, False, False], a3=[True, True, False])
    assert len(stem) == 2
    rows = np.array([0, 1])
    assert stem.passing(0, rows).tolist() == [True, False]
    assert stem.passing(3, rows).tolist() == [True, True]
    assert stem.alias_rows == {0: 1, 3: 2}
    assert stem_of().passing(0, rows) is None, "one alias needs no mask"


def test_stamps_order_by_sequence_then_alias() -> None:
    stem = stem_of(0, 3)
    build(stem, rows_of((1, "x"), (2, "y")))
    older, newer = stem.stamps(0, np.array([0, 1])), stem.stamps(3, np.array([0, 1]))
    assert older[0] < newer[0] < older[1] < newer[1], (
        "a row has a stamp for each alias, no two are equal (P01)"
    )
    assert 1 << ALIAS_BITS == MAX_ALIASES
    assert stem.stamps(MAX_ALIASES - 1, np.array([0]))[0] < older[1]


@pytest.mark.parametrize("gone", [0, 2])
def test_who_is_older_is_told_by_row_numbers_as_by_stamps(gone: int) -> None:
    """Rows built before all who ask, after all, and between them; as an alias below and above that of the probers."""
    stem, sequence = stem_of(2), 0
    for first, step in ((0, 1), (3, 5), (6, 0), (9, 2)):  # other tables' rows have the numbers between
        _, sequence = build(stem, rows_of(*((first + one, "x") for one in range(3))), sequence + step)
    stem.forget(gone)
    rows = np.arange(gone, len(stem))
    for alias in (0, 2, 4):
        for some in (
            range(1, 6),
            range(sequence - 2, sequence + 3),
            range(sequence + 1, sequence + 2),
            range(22),
        ):
            stamps = np.array([one << ALIAS_BITS | alias for one in some])
            positions, pairs = np.repeat(np.arange(len(stamps)), len(rows)), np.tile(rows, len(stamps))
            found = stem.older(2, pairs, stamps, positions)
            expected = stem.stamps(2, pairs) < stamps[positions]
            assert (np.ones(len(pairs), np.bool_) if found is None else found).tolist() == expected.tolist()


def test_whether_a_probe_exceeds_a_number_of_pairs() -> None:
    stem = stem_of()
    build(stem, rows_of((1, "x"), (2, "x"), (1, "x")))
    numbers = stem.domains[0].number(pa.array([1, 2, 3], pa.int32()))
    assert stem.exceeds(5, [(0, numbers)], 3), "one number has two rows"
    assert not stem.exceeds(6, [(0, numbers)], 3)
    assert stem.exceeds(10**9, [], 3), "a product is counted"


def test_duplicates_are_absorbed_and_counted() -> None:
    stem = stem_of(plan=table("a b:string", (0,), scans=1))
    _, sequence = build(stem, rows_of((1, "x"), (1, "x")))
    stored, after = build(stem, rows_of((1, "x"), (2, "y")), sequence)
    assert (stored.tolist(), after) == ([2], 3)
    assert (stem.duplicates, stem.arrived) == (1, 4)
    assert probe(stem, (0, [1, 2])) == [(0, 0), (0, 1), (1, 2)]


def test_bytes_grow_with_rows() -> None:
    stem = stem_of()
    empty = stem.nbytes
    build(stem, rows_of(*[(number, "word") for number in range(1000)]))
    probe(stem, (0, [1]))
    assert stem.nbytes > empty + 1000 * 20
