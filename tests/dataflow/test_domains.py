"""Numbers for values: dense, exact, the same whatever batch a value comes in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from math import inf, isnan, nan

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fff.dataflow.store import code_table, domains
from fff.dataflow.store.code_table import CodeTable
from fff.dataflow.store.domains import Domain, PairDomain, fingerprints
from fff.schema import arrow_type, comparison_kind
from tests.dataflow.blocks import quick

BIG = Decimal("12345678901234567890123456789.123456789")

#: Spark type -> distinct values; the ends of the type and what lies around zero are in.
VALUES: dict[str, list[object]] = {
    "boolean": [False, True],
    "tinyint": [0, -128, 127, 1],
    "smallint": [0, -(2**15), 2**15 - 1],
    "int": [0, -(2**31), 2**31 - 1, -1],
    "bigint": [0, -(2**63), 2**63 - 1, -1, 2**32],
    "float": [0.0, 1.5, -1.5, inf, -inf],
    "double": [0.0, 1e308, 5e-324, -0.1, inf],
    "string": ["", "a", "A", "aa", "\u00e9", "e\u0301", "a\0", "\0a", "12345678", "123456789", "x" * 300],
    "binary": [b"", b"\0", b"\0\0", b"\xff", b"y" * 999],
    "date": [date(1970, 1, 1), date(1969, 12, 31), date(1, 1, 1), date(9999, 12, 31)],
    "timestamp": [datetime(1970, 1, 1, tzinfo=UTC), datetime(1901, 1, 1, 0, 0, 0, 1, tzinfo=UTC)],
    "timestamp_ntz": [datetime(1970, 1, 1), datetime(2024, 2, 29, 23, 59, 59, 999999)],  # noqa: DTZ001
    "decimal(5,2)": [Decimal("0.00"), Decimal("-0.01"), Decimal("-999.99"), Decimal("999.99")],
    "decimal(18,0)": [Decimal(10**18 - 1), Decimal(1 - 10**18), Decimal(-1), Decimal(0)],
    "decimal(38,9)": [BIG, -BIG, Decimal("0E-9"), Decimal("-1E-9"), Decimal("1E-9")],
    "varchar(10)": ["abc", "abd"],
}


@pytest.mark.parametrize("kind", VALUES)
def test_numbers_are_dense_and_decode(kind: str) -> None:
    values, arrow = VALUES[kind], arrow_type(kind)
    domain = Domain(arrow)
    first, null, again, *others = domain.number(
        pa.array([values[0], None, values[0], *values[1:]], arrow)
    ).tolist()
    assert null == -1
    assert first == again
    numbers = [first, *others]
    assert sorted(numbers) == list(range(len(values)))
    assert domain.number(pa.array(values[::-1], arrow)).tolist() == numbers[::-1]
    assert len(domain) == len(values)
    assert [domain.value(number) for number in numbers] == values
    assert [type(domain.value(number)) for number in numbers] == [type(value) for value in values]


@pytest.mark.parametrize("kind", VALUES)
def test_sliced_arrays_are_numbered_at_their_offset(kind: str) -> None:
    values, arrow = VALUES[kind], arrow_type(kind)
    domain = Domain(arrow)
    expected = domain.number(pa.array(values, arrow))
    padded = pa.array([values[-1], None, *values, None, values[0]], arrow)
    assert domain.number(padded.slice(2, len(values))).tolist() == expected.tolist()
    assert domain.number(padded.slice(1, len(values) + 1)).tolist() == [-1, *expected.tolist()]


@pytest.mark.parametrize("kind", VALUES)
def test_a_value_has_one_number_whatever_comes_with_it(kind: str) -> None:
    values, arrow = VALUES[kind], arrow_type(kind)
    alone, together = Domain(arrow), Domain(arrow)
    for value in values:
        alone.number(pa.array([value], arrow))
    expected = together.number(pa.array(values, arrow)).tolist()
    for number, value in enumerate(values):
        assert together.number(pa.array([value], arrow)).tolist() == [expected[number]]
        assert alone.number(pa.array([*values, value], arrow)).tolist()[-1] == number
    assert len(alone) == len(together) == len(values)


@pytest.mark.parametrize("kind", VALUES)
def test_nothing_and_nulls(kind: str) -> None:
    domain = Domain(arrow_type(kind))
    assert domain.number(pa.array([], arrow_type(kind))).tolist() == []
    assert domain.number(pa.nulls(3, arrow_type(kind))).tolist() == [-1, -1, -1]
    assert len(domain) == 0


@pytest.mark.parametrize("kind", ["float", "double"])
def test_zeros_are_one_and_nans_are_one(kind: str) -> None:
    domain = Domain(arrow_type(kind))
    other_nan = np.array([0x7FF8000000000001], np.int64).view(np.float64)[0]
    values = pa.array([-0.0, 0.0, nan, other_nan, -nan, 1.0], arrow_type(kind))
    numbers = domain.number(values).tolist()
    zero, number = numbers[0], numbers[2]
    assert numbers[:5] == [zero, zero, number, number, number]
    assert sorted({zero, number, numbers[5]}) == [0, 1, 2]
    assert str(domain.value(zero)) == "0.0"
    value = domain.value(number)
    assert isinstance(value, float)
    assert isnan(value)


def test_integers_of_any_width_share_numbers() -> None:
    domain = Domain(pa.int8())
    seven, minus = domain.number(pa.array([7, -1], pa.int8())).tolist()
    assert domain.number(pa.array([-1, 7, 2**40], pa.int64())).tolist() == [minus, seven, 2]


def test_comparison_kinds() -> None:
    assert comparison_kind(pa.int8()) == comparison_kind(pa.int64())
    assert comparison_kind(pa.string()) == comparison_kind(pa.large_string())
    kinds = [pa.int64(), pa.float32(), pa.float64(), pa.string(), pa.date32(), pa.timestamp("us")]
    kinds += [pa.timestamp("us", tz="UTC"), pa.decimal128(5, 2), pa.decimal128(6, 2), pa.bool_()]
    assert len({comparison_kind(kind) for kind in kinds}) == len(kinds)


def test_nested_types_do_not_compare() -> None:
    with pytest.raises(TypeError, match="cannot be compared"):
        Domain(pa.list_(pa.int64()))


COLLIDING: dict[str, Callable[[pa.Array], np.ndarray]] = {
    "one fingerprint": lambda values: np.zeros(len(values), np.int64),
    "two fingerprints": lambda values: np.array([len(value) % 2 for value in values.to_pylist()], np.int64),
    "by first letter": lambda values: np.array(
        [ord(value[0]) if value else -1 for value in values.to_pylist()], np.int64
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("collide", COLLIDING.values(), ids=COLLIDING.keys())
@quick
@given(batches=st.lists(st.lists(st.one_of(st.none(), st.text("abc", max_size=4)), max_size=12), max_size=8))
def test_colliding_fingerprints_change_nothing(
    collide: Callable[[pa.Array], np.ndarray], batches: list[list[str | None]]
) -> None:
    domain, model = Domain(pa.string()), dict[str, int]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(domains, "fingerprints", collide)
        for batch in batches:
            numbers = domain.number(pa.array(batch, pa.string())).tolist()
            for value, number in zip(batch, numbers, strict=True):
                if value is None:
                    assert number == -1
                else:
                    assert model.setdefault(value, number) == number
    assert sorted(model.values()) == list(range(len(model))), "dense, and no two values share one"
    assert len(domain) == len(model)
    assert all(domain.value(number) == value for value, number in model.items())


def test_a_long_string_in_the_batch_does_not_renumber_the_short_ones() -> None:
    domain = Domain(pa.string())
    short = domain.number(pa.array(["a", "b"])).tolist()
    mixed = domain.number(pa.array(["b", "x" * 257, "a", "x" * 256])).tolist()
    assert [mixed[2], mixed[0]] == short
    assert domain.number(pa.array(["x" * 256, "x" * 257])).tolist() == [mixed[3], mixed[1]]
    assert len(domain) == 4


@quick
@given(st.lists(st.binary(max_size=40)))
def test_fingerprints_depend_on_the_bytes_alone(values: list[bytes]) -> None:
    whole = fingerprints(pa.array(values, pa.binary()))
    alone = [int(fingerprints(pa.array([value], pa.binary()))[0]) for value in values]
    assert whole.tolist() == alone
    assert len(set(alone)) == len(set(values)), "no collision among so few"


@pytest.mark.slow
@quick
@given(
    st.lists(st.lists(st.integers(-5, 5) | st.sampled_from([2**63 - 1, -(2**63)]), max_size=40), max_size=8)
)
def test_code_table_against_a_dict(batches: list[list[int]]) -> None:
    table, model = CodeTable(), dict[int, int]()
    for batch in batches:
        numbers = table.number(np.array(batch, np.int64)).tolist()
        for code, number in zip(batch, numbers, strict=True):
            assert model.setdefault(code, number) == number
    assert len(table) == len(model)
    assert table.by_number.view.tolist() == sorted(model, key=model.__getitem__), "dense from 0"


@quick
@given(
    st.lists(
        st.lists(st.integers(-400, 400), max_size=80)
        | st.lists(st.integers(-40, 40).map(lambda code: code << 40), max_size=80)
        | st.lists(st.sampled_from([-(2**63), 1 - 2**63, 2**63 - 2, 2**63 - 1]), max_size=4),
        max_size=8,
    ),
    st.sampled_from([0, code_table._FEW, 1000]),
    st.sampled_from([0, 4, code_table._NEAR_ROOM]),
)
def test_a_table_that_grows_while_it_is_used_keeps_every_number(
    batches: list[list[int]], few: int, room: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code_table, "_MOVED_AT_ONCE", 0)
        patch.setattr(code_table, "_FEW", few)
        patch.setattr(code_table, "_NEAR_ROOM", room)  # with none, few codes are near each other
        table, model = CodeTable(), dict[int, int]()
        for batch in batches:
            codes = np.array(batch, np.int64)
            assert table.find(codes).tolist() == [model.get(code, -1) for code in batch]
            for code, number in zip(batch, table.number(codes).tolist(), strict=True):
                assert model.setdefault(code, number) == number
            assert table.find(codes).tolist() == [model[code] for code in batch]
        assert sorted(model.values()) == list(range(len(table))), "dense from 0"


def test_a_large_table_never_moves_all_codes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[int] = []
    places = code_table._places
    monkeypatch.setattr(
        code_table, "_places", lambda codes, slots: (moved.append(len(codes)), places(codes, slots))[1]
    )
    table = CodeTable()
    for start in range(0, 200_000, 500):
        table.number(np.arange(start, start + 500) << 20)
    assert 500 <= max(moved) <= code_table._MOVED_AT_ONCE
    assert len(table) == 200_000


def test_codes_that_are_near_each_other_are_not_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[int] = []
    places = code_table._places
    monkeypatch.setattr(
        code_table, "_places", lambda codes, slots: (hashed.append(len(codes)), places(codes, slots))[1]
    )
    table, pages = CodeTable(), np.array_split(np.arange(2_000_000, 2_500_000)[::-1], 500)
    for page in pages:  # the newest first
        table.number(page)
    assert not hashed
    shuffled = np.random.default_rng(1).permutation(2_000_000)
    for page in np.array_split(shuffled, 200):
        table.number(page)
    assert sum(hashed) < 1_500_000, "not near at first, and then they are"
    del hashed[:]
    far = table.number(np.array([-(2**62)]))
    assert hashed, "one that is far from the rest brings hashing back"
    assert far.tolist() == [2_500_000] == table.find(np.array([-(2**62)])).tolist()
    again = np.concatenate([table.number(page) for page in pages])
    assert again.tolist() == list(range(500_000))
    found = table.find(shuffled)
    assert (table.by_number.view[found] == shuffled).all()
    assert sorted(found.tolist()) == list(range(500_000, 2_500_000))


@pytest.mark.parametrize("shift", [0, 20])
def test_a_table_outside_memory_gives_the_same_numbers(shift: int) -> None:
    class Elsewhere:
        least = 1

        def zeros(self, length: int, dtype: np.dtype[np.generic]) -> np.ndarray:
            return np.zeros(length, dtype)

        def store(self, columns: object) -> list[list[pa.Array]]:
            raise AssertionError("there are no columns")

    table = CodeTable()
    codes = np.random.default_rng(1).permutation(40_000) << shift
    first = [table.number(codes[:10_000])]
    table.spill(Elsewhere())
    first += [table.number(part) for part in np.array_split(codes[10_000:], 7)]
    assert len(table) == 40_000
    assert (table.by_number.view[np.concatenate(first)] == codes).all()
    assert (table.find(codes) == np.concatenate(first)).all()


def test_growth_keeps_every_number() -> None:
    table = CodeTable()
    rng = np.random.default_rng(1)
    codes = rng.permutation(50_000).astype(np.int64) << 20  # equal low bits: slots must come from mixing
    first = np.concatenate([table.number(part) for part in np.array_split(codes, 37)])
    assert sorted(first.tolist()) == list(range(50_000))
    assert (table.number(codes) == first).all()
    repeated = rng.integers(0, 50_000, 200_000)
    assert (table.number(codes[repeated]) == first[repeated]).all(), "many duplicates in a large batch"
    assert len(table) == 50_000


def test_a_batch_of_one_new_value_many_times() -> None:
    domain = Domain(pa.string())
    assert set(domain.number(pa.array(["same"] * 10_000)).tolist()) == {0}
    assert len(domain) == 1


def test_values_of_many_numbers() -> None:
    wide = Domain(pa.decimal128(38, 2))
    given_ = pa.array([Decimal("1.50"), Decimal("12345678901234567890.25"), None], pa.decimal128(38, 2))
    numbers = wide.number(given_)
    assert wide.values(numbers[:2]).equals(given_[:2])
    short = Domain(pa.int32())
    numbers = short.number(pa.array([7, 5, 7], pa.int32()))
    assert short.values(numbers[::-1]).equals(pa.array([7, 5, 7], pa.int64()))


def test_pairs_of_many_numbers() -> None:
    pairs = PairDomain()
    left, right = np.array([3, 0, 3]), np.array([2**31, 1, 0])
    parts = pairs.pairs(pairs.number(left, right))
    assert [part.tolist() for part in parts] == [left.tolist(), right.tolist()]


def test_pairs() -> None:
    pairs = PairDomain()
    numbers = pairs.number(np.array([1, 2, 1, -1, 1]), np.array([2, 1, 2, 0, -1]))
    first, second, *others = numbers.tolist()
    assert others == [first, -1, -1]
    assert {first, second} == {0, 1}
    assert [pairs.pair(first), pairs.pair(second)] == [(1, 2), (2, 1)]
    top = 2**31 - 1
    assert pairs.number(np.array([top]), np.array([top])).tolist() == [2]
    assert pairs.pair(2) == (top, top)
    assert len(pairs) == 3
