"""Behaviours of documents and of the records in them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from fff.structs import replace
from tests.faults.behaviour import (
    LOOKUPS,
    SCANS,
    Bag,
    Behaviour,
    at_strike,
    bag_of,
    behind_strike,
    each_record,
    instead,
    members,
    no_records,
    with_body,
)
from tests.faults.site import COLUMNS, ROWS, Page, Turn, World


def _renamed(old: str, new: str) -> Any:
    return each_record(lambda one: {new if name == old else name: one[name] for name in one})


def _with(**changes: object) -> Any:
    return each_record(lambda one: {**one, **changes})


def _first_with(**changes: object) -> Any:
    def changed(turn: Turn, page: Page) -> None:
        if page.records:
            page.records = [{**page.records[0], **changes}, *page.records[1:]]

    return changed


def _instead_of_first(value: object) -> Any:
    def changed(turn: Turn, page: Page) -> None:
        if page.records:
            page.records = [value, *page.records[1:]]

    return changed


def _one_record(turn: Turn, page: Page) -> None:
    if len(page.records) == 1:
        page.extra["items"] = page.records[0]


def _pending(turn: Turn, page: Page) -> None:
    if turn.struck and turn.attempt == 1:
        page.whole = {"state": "pending"}


def _nothing(turn: Turn, page: Page) -> None:
    if not page.records and not page.position:
        page.whole = {"state": "nothing", "error": "no such key"}


def _only(record: object) -> Any:
    def changed(turn: Turn, page: Page) -> None:
        page.records = [record]
        page.following = None

    return changed


def _same_but(change: dict[str, object]) -> Any:
    """Right where all is as it was, but for columns that the source gave otherwise on one page."""

    def judge(found: Bag, world: World) -> bool:
        truth = bag_of(ROWS, world)
        places = [place for place, name in enumerate(COLUMNS) if name not in change]

        def kept(bag: Bag) -> Counter[Any]:
            out: Counter[Any] = Counter()
            for one, count in bag.items():
                out[tuple(one[place] for place in places)] += count
            return out

        return kept(found) == kept(truth)

    return judge


DOCUMENTS = tuple(
    replace(one, group="Documents")
    for one in (
        Behaviour("HTML in place of records", body=with_body(lambda b: b"<!DOCTYPE html><h1>Oops</h1>"), anywhere=True,
                  formats=("json", "csv", "ndjson", "xml")),
        Behaviour("an empty object", page=at_strike(instead({}))),
        Behaviour("null", page=at_strike(instead(None)), body=with_body(lambda b: b"null")),
        Behaviour("a bare empty list", page=at_strike(instead([]))),
        Behaviour("null in place of the list", page=at_strike(members(items=None))),
        Behaviour("a text in place of the list", page=at_strike(members(items="none"))),
        Behaviour("the list under another name", page=at_strike(
            lambda turn, page: setattr(page, "whole", {"results": page.records})), anywhere=True),
        Behaviour("one record without a list", page=_one_record, rows=ROWS[:51], sound=True, accesses=SCANS),
        Behaviour("JSON cut in the middle", body=with_body(lambda b: b[: len(b) * 2 // 3])),
        Behaviour("something behind the document", body=with_body(lambda b: b + b"\nFatal error: quota in line 3")),
        Behaviour("two documents", body=with_body(lambda b: b + b)),
        Behaviour("a callback around it", body=with_body(lambda b: b"callback(" + b + b");")),
        Behaviour("a guard before it", body=with_body(lambda b: b")]}',\n" + b)),
        Behaviour("a byte order mark", body=with_body(lambda b: b"\xef\xbb\xbf" + b), sound=True, formats=("json", "csv", "ndjson")),
        Behaviour("UTF-16, told nowhere", body=with_body(lambda b: b.decode().encode("utf-16"))),
        Behaviour("Latin-1, told nowhere", body=with_body(lambda b: b.replace(b"name ", b"n\xe4me ")), formats=("json", "csv", "ndjson")),
        Behaviour("half a pair of surrogates", body=with_body(lambda b: b.replace(b"name ", b"\\ud800 "))),
        Behaviour("NaN in a text column", body=with_body(lambda b: b.replace(b'"name 2', b'NaN, "x": "'))),
        Behaviour("an error beside no records", page=at_strike(no_records(error={"message": "quota"})), anywhere=True),
        Behaviour("an error in place of records", page=at_strike(instead({"error": {"message": "quota"}}))),
        Behaviour("errors beside no records", page=at_strike(no_records(errors=["quota"]))),
        Behaviour("errors: [] beside records", page=members(errors=[], error=None, success=True), sound=True),
        Behaviour("success: false beside no records", page=at_strike(no_records(success=False))),
        Behaviour("ok: false beside no records", page=at_strike(no_records(ok=False))),
        Behaviour("status: error beside no records", page=at_strike(no_records(status="error", message="quota"))),
        Behaviour("an error declared by on_response", page=at_strike(no_records(code=17)), anywhere=True,
                  spec={"on_response": [{"path": "code", "equals": 17, "action": "fail"}]}),
        Behaviour("a wait declared by on_response", page=_pending, sound=True,
                  spec={"on_response": [{"path": "state", "equals": "pending", "action": "retry"}]}),
        Behaviour("a limit declared by on_response", page=_pending, sound=True,
                  spec={"on_response": [{"path": "state", "equals": "pending", "action": "slow_down"}]}),
        Behaviour("nothing, declared by on_response", page=_nothing, sound=True, accesses=LOOKUPS,
                  spec={"on_response": [{"path": "state", "equals": "nothing", "action": "empty"}]}),
        Behaviour("incomplete_results: true", page=behind_strike(members(incomplete_results=True))),
        Behaviour("timed_out: true", page=at_strike(members(timed_out=True))),
        Behaviour("partial: true", page=at_strike(members(partial=True))),
        Behaviour("_shards.failed: 2", page=at_strike(members(_shards={"total": 5, "successful": 3, "failed": 2}))),
        Behaviour("incomplete_results: false", page=members(
            incomplete_results=False, timed_out=False, partial=False, _shards={"failed": 0}), sound=True),
    )
)  # fmt: skip


RECORDS = tuple(
    replace(one, group="Records")
    for one in (
        Behaviour("records that are errors", page=at_strike(_only({"error": "quota"})), anywhere=True,
                  formats=("json", "ndjson")),
        Behaviour("records of another table", page=at_strike(each_record(lambda one: {"colour": "red", "size": 3}))),
        Behaviour("an error among the records", page=at_strike(_instead_of_first({"error": "quota"})), formats=("json", "ndjson")),
        Behaviour("null among the records", page=at_strike(_instead_of_first(None))),
        Behaviour("a text among the records", page=at_strike(_instead_of_first("none"))),
        Behaviour("lists in place of records", page=at_strike(each_record(lambda one: list(one.values())))),
        Behaviour("a member with another name on one page", page=at_strike(_renamed("name", "title")), warned=True,
                  accesses=SCANS, where=lambda w: w.dialect.paged, because="there is no page to compare it with",
                  judge=_same_but({"name": None})),
        Behaviour("a member that no record has", page=_renamed("name", "title"), warned=True,
                  judge=_same_but({"name": None})),
        Behaviour("a member that some records leave out", page=_renamed("x", "x"), sound=True),
        Behaviour("the key under another name", page=at_strike(_renamed("id", "ID")),
                  judge=_same_but({"id": None}), warned=True, where=lambda w: w.access in SCANS and w.dialect.paged,
                  because="there is no page to compare it with"),
        Behaviour("a number as text", page=at_strike(each_record(lambda one: {**one, "id": str(one["id"])})), sound=True),
        Behaviour("a number as 31.0", page=at_strike(each_record(lambda one: {**one, "id": float(one["id"])})), sound=True),
        Behaviour("a number as 31.5", page=at_strike(each_record(lambda one: {**one, "id": one["id"] + 0.5}))),
        Behaviour("n/a for a number", page=at_strike(_first_with(id="n/a"))),
        Behaviour("an object for a number", page=at_strike(_first_with(id={"value": 3}))),
        Behaviour("a list for a number", page=at_strike(_first_with(id=[1, 2]))),
        Behaviour("a number too large", page=at_strike(_first_with(id=2**40))),
        Behaviour("true for a number", page=at_strike(_first_with(id=True))),
        Behaviour("a member twice in a record", body=with_body(lambda b: b.replace(b'"id"', b'"id": 999, "id"', 1)),
                  judge=_same_but({"id": None})),
        Behaviour("more members than declared", page=_with(more=[1, {"a": 2}]), sound=True),
        Behaviour("members in another order", page=each_record(lambda one: dict(reversed(one.items()))), sound=True),
    )
)  # fmt: skip
