"""Lookup modules: every distinct key once, in batches, within the window, ending in EOT or failure."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from fff.dataflow.lookups.access import KeyRequest, KeyState, LookupModule
from fff.dataflow.plan.plan import LookupPlan
from fff.dataflow.store.domains import Domain


def module(*, batch: int = 1, window: int = 16, columns: tuple[int, ...] = (0,)) -> LookupModule:
    kinds = [pa.string(), pa.int64(), pa.date32()]
    domains = [Domain(kinds[column]) for column in columns]
    return LookupModule(LookupPlan("by", columns, batch, window), domains)


def keys(of: LookupModule, *values: str | None) -> np.ndarray:
    return of.keys([of._domains[0].number(pa.array(values, pa.string()))])


def send(of: LookupModule, number: int) -> KeyRequest:
    request = of.next_request(number)
    assert request is not None
    return request


def values(of: LookupModule, request: KeyRequest) -> list[object]:
    return [of.values(key) for key in request.keys.tolist()]


def test_a_key_goes_through_its_states() -> None:
    lookup = module()
    key = keys(lookup, "x")
    assert lookup.states(key).tolist() == [KeyState.UNKNOWN]
    lookup.want(key)
    assert lookup.states(key).tolist() == [KeyState.WANTED]
    assert lookup.wanted().tolist() == key.tolist()
    assert lookup.request(key) == 1
    assert lookup.states(key).tolist() == [KeyState.PENDING]
    lookup.want(key)
    assert lookup.states(key).tolist() == [KeyState.PENDING], "never back"
    request = send(lookup, 7)
    assert lookup.states(key).tolist() == [KeyState.IN_FLIGHT]
    assert lookup.under_way().tolist() == key.tolist()
    lookup.cover([request])
    assert lookup.states(key).tolist() == [KeyState.COVERED]
    assert lookup.idle
    assert lookup.request(key) == 0, "one request per distinct key, ever"
    assert lookup.count(KeyState.COVERED) == 1


def test_equal_keys_coalesce_whatever_their_state() -> None:
    lookup = module(window=1)
    assert lookup.request(keys(lookup, "x", "x", "y")) == 2
    request = send(lookup, 0)
    assert lookup.request(keys(lookup, "y", "x", "z")) == 1
    assert lookup.next_request(1) is None, "the window is full"
    lookup.cover([request])
    assert values(lookup, send(lookup, 1)) == [("y",)]
    assert (lookup.asked, lookup.issued, lookup.pending) == (2, 2, 1)


def test_batches_carry_several_keys() -> None:
    lookup = module(batch=3)
    lookup.request(keys(lookup, "a", "b", "c", "d"))
    sent = [values(lookup, send(lookup, number)) for number in range(2)]
    assert [len(part) for part in sent] == [3, 1]
    assert sorted(sent[0] + sent[1]) == [("a",), ("b",), ("c",), ("d",)]
    assert lookup.next_request(2) is None
    assert (lookup.asked, lookup.issued) == (4, 2)


def test_window_bounds_requests_not_keys() -> None:
    lookup = module(batch=2, window=2)
    lookup.request(keys(lookup, *"abcdefg"))
    first, _ = send(lookup, 0), send(lookup, 1)
    assert lookup.next_request(2) is None
    assert lookup.pending == 3
    lookup.fail(first, "HTTP 500")
    assert len(send(lookup, 2).keys) == 2


def test_a_failed_key_is_not_asked_again_and_says_why() -> None:
    lookup = module()
    key = keys(lookup, "x")
    lookup.request(key)
    lookup.fail(send(lookup, 0), "HTTP 503")
    assert lookup.states(key).tolist() == [KeyState.FAILED]
    assert lookup.reasons == {int(key[0]): "HTTP 503"}
    assert lookup.request(key) == 0
    assert lookup.idle


def test_giving_up_and_dropping_what_is_pending() -> None:
    lookup = module(window=1)
    lookup.request(keys(lookup, "x", "y", "z"))
    request = send(lookup, 0)
    assert len(lookup.give_up_pending("interrupted")) == 2
    assert lookup.count(KeyState.FAILED) == 2
    assert set(lookup.reasons.values()) == {"interrupted"}
    assert not lookup.idle
    lookup.cover([request])
    assert lookup.idle
    other = module()
    other.request(keys(other, "x"))
    other.drop_pending()
    assert other.idle
    assert other.states(keys(other, "x")).tolist() == [KeyState.WANTED]
    assert other.give_up_pending("nothing is").tolist() == []


@pytest.mark.parametrize("urgent", [False, True])
def test_a_key_that_was_raised_and_spared_can_be_wanted_again(*, urgent: bool) -> None:
    lookup = module()
    for key in "xyz":
        lookup.request(keys(lookup, key))
    spared = keys(lookup, "z")
    lookup.hurry(spared)
    assert lookup.next_keys().tolist() == keys(lookup, "z", "x", "y").tolist()
    lookup.spare(spared)
    assert lookup.next_keys().tolist() == keys(lookup, "x", "y").tolist()
    assert values(lookup, send(lookup, 0)) == [("x",)]
    assert lookup.states(spared).tolist() == [KeyState.WANTED]
    assert lookup.request(spared, urgent=urgent) == 1
    assert (lookup.pending, sorted(lookup.queued().tolist())) == (2, sorted(keys(lookup, "y", "z").tolist()))
    lookup.hurry(spared)
    assert lookup.pending == 2
    assert [values(lookup, send(lookup, number)) for number in (1, 2)] == [[("z",)], [("y",)]]
    assert lookup.next_request(3) is None, "nothing is asked for twice"
    assert not lookup.pending


def test_rows_with_other_keys_are_strays() -> None:
    lookup = module(batch=2)
    lookup.request(keys(lookup, "x", "y"))
    request = send(lookup, 0)
    assert lookup.matching([request], [4], keys(lookup, "y", "z", None, "x")).tolist() == [
        True,
        False,
        False,
        True,
    ]
    assert (lookup.strays, lookup.rows, request.rows) == (2, 4, 4), "EOT counts what came, strays included"
    single = module()
    single.request(keys(single, "x"))
    assert single.matching([send(single, 0)], [2], keys(single, "y", "x")).tolist() == [False, True]


@pytest.mark.parametrize("columns", [(0, 1), (1, 0), (0, 1, 2)])
def test_keys_of_several_columns(columns: tuple[int, ...]) -> None:
    lookup = module(columns=columns)
    sample = {
        0: pa.array(["x", "x", "y", None, "x"]),
        1: pa.array([1, 2, 1, 1, 1]),
        2: pa.array([0, 0, 0, 0, 0], pa.int32()).cast(pa.date32()),
    }
    numbers = {c: d.number(sample[c]) for c, d in zip(columns, lookup._domains, strict=True)}
    found = lookup.row_keys(numbers)
    assert found[0] == found[4]
    assert found[3] == -1, "a key with a NULL is none"
    assert len(set(found.tolist())) == 4
    for place in (0, 1, 2):
        assert lookup.values(int(found[place])) == tuple(sample[c][place].as_py() for c in columns)


def test_states_of_nothing() -> None:
    lookup = module()
    assert lookup.states(np.array([], np.int64)).tolist() == []
    assert lookup.request(np.array([], np.int64)) == 0
    assert lookup.wanted().tolist() == []
