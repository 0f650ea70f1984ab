"""Behaviours of lookups: which of the keys asked for are read, how they are compared, and what nothing looks like."""

from __future__ import annotations

from collections.abc import Callable

from fff.structs import replace
from tests.faults.behaviour import LOOKUPS, Behaviour, instead, members, status
from tests.faults.site import ROWS, Page, Row, Turn
from tests.faults.wire import Reply


def _reads(keys: Callable[[list[str]], list[str]]) -> Callable[[Turn, list[Row]], list[Row]]:
    """Of the keys of a request only some are read."""
    return lambda turn, rows: [one for one in rows if one["grp"] in keys(turn.keys)]


def _in_order_of_keys(turn: Turn, rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda one: turn.keys.index(one["grp"]) if one["grp"] in turn.keys else -1)


def _named(grp: str, number: int) -> Row:
    return {"id": number, "grp": grp, "name": f"name {number}", "note": None}


def _matching(same: Callable[[str, str], bool]) -> Callable[[Turn, list[Row]], list[Row]]:
    """Keys are compared otherwise than SQL does."""
    return lambda turn, rows: [one for one in _ALL_CASES if any(same(one["grp"], key) for key in turn.keys)]


_ODD = (_named("G00", 101), _named("g00 ", 102), _named("g0", 103), _named("g000", 104))
_ALL_CASES = (*ROWS, *_ODD)
_COMMAS = (_named("a,b", 105), _named("a", 106), _named("b", 107))
_ODD_TEXTS = (
    _named("a&b=c", 108),
    _named("a/b", 109),
    _named("ä ö", 110),
    _named("100%", 111),
    _named("a+b", 112),
)
_DOTS = (_named("..", 113), _named(".", 114), _named("", 115))
_MANY = tuple(f"none{number:02d}" for number in range(24))


def _split(turn: Turn, rows: list[Row]) -> list[Row]:
    """The source takes a parameter apart at its commas, whatever the request means."""
    keys = {part for text in turn.asked.query.get("grp", []) for part in text.split(",")}
    return [one for one in _COMMAS if one["grp"] in keys]


def _capped(limit: int) -> Callable[[Turn, list[Row]], list[Row]]:
    return lambda turn, rows: rows[:limit]


def _strays(turn: Turn, rows: list[Row]) -> list[Row]:
    return [*rows, *(one for one in ROWS if rows and one["grp"] == "g06" and "g06" not in turn.keys)]


def _upper(turn: Turn, page: Page) -> None:
    page.records = [{**one, "grp": one["grp"].upper()} for one in page.records]


def _without_key(turn: Turn, page: Page) -> None:
    page.records = [{name: value for name, value in one.items() if name != "grp"} for one in page.records]


def _nothing_found(reply: Callable[[Reply], Reply]) -> Callable[[Turn, Reply], Reply]:
    """How the source says that it has nothing for any of the keys."""
    return lambda turn, answer: (
        reply(answer) if b'"items": []' in answer.body and not turn.position else answer
    )


def _refuses_many(turn: Turn, reply: Reply) -> Reply:
    return status(400, b'{"error": "too many ids"}')(reply) if len(turn.keys) > 3 else reply


def _answers_all(reply: Callable[[Reply], Reply]) -> Callable[[Turn, Reply], Reply]:
    return lambda turn, answer: reply(answer)


_BATCH = {"accesses": ("batch",)}
_ALONE = {"where": lambda w: w.access == "lookup", "because": "with several keys a row must say whose it is"}

KEYS = tuple(
    replace(one, group="Keys", accesses=one.accesses if one.accesses == ("batch",) else LOOKUPS)
    for one in (
        Behaviour("of a batch the last key only", select=_reads(lambda keys: keys[-1:]), **_BATCH),
        Behaviour("of a batch the first key only", select=_reads(lambda keys: keys[:1]), **_BATCH),
        Behaviour("of a batch three keys", select=_reads(lambda keys: keys[:3]), **_BATCH),
        Behaviour("of a batch all but the first", select=_reads(lambda keys: keys[1:] or keys), **_BATCH),
        Behaviour("of a batch all but one in the middle", select=_reads(
            lambda keys: keys if len(keys) < 3 else [*keys[:2], *keys[3:]]), **_BATCH),
        Behaviour("of a batch nothing", select=_reads(lambda keys: keys if len(keys) == 1 else []), **_BATCH),
        Behaviour("of the second batch nothing", select=lambda turn, rows: rows if "g00" in turn.keys or len(turn.keys) < 3 else [], **_BATCH),
        Behaviour("no answer has more than three rows", select=_capped(3), **_BATCH),
        Behaviour("no answer has more than ten rows", select=_capped(10), **_BATCH),
        Behaviour("no answer has more than ten rows, spread over the keys",
                  select=lambda turn, rows: [one for place, one in enumerate(rows) if place % 3 == 0][:10]
                  if len(turn.keys) > 1 else rows, **_BATCH),
        Behaviour("a batch beyond three keys is refused", reply=_refuses_many, **_BATCH),
        Behaviour("rows in the order of the keys", select=_in_order_of_keys, sound=True,
                  where=lambda w: w.dialect.style != "keyset", because="keysets need one order"),
        Behaviour("keys that hold the separator", select=_split, rows=_COMMAS, asked=("a,b", "a", "b"), separator=","),
        Behaviour("a key that holds the separator, alone", select=_split, rows=_COMMAS, asked=("a,b",), separator=",", **_BATCH),
        Behaviour("keys of odd characters", rows=_ODD_TEXTS, asked=tuple(one["grp"] for one in _ODD_TEXTS), sound=True),
        Behaviour("keys in the path, of odd characters", rows=_ODD_TEXTS, asked=tuple(one["grp"] for one in _ODD_TEXTS),
                  spec={"path": "of/{grp}"}, sound=True, where=_ALONE["where"], because="a path holds one key"),
        Behaviour("keys that no path can hold", rows=(*ROWS, *_DOTS), asked=("g00", "..", "g03", ".", ""),
                  spec={"path": "of/{grp}"}, where=_ALONE["where"], because="a path holds one key"),
        Behaviour("case does not matter to the source", select=_matching(lambda a, b: a.lower() == b.lower()), rows=_ALL_CASES),
        Behaviour("keys are trimmed by the source", select=_matching(lambda a, b: a.strip() == b.strip()), rows=_ALL_CASES,
                  asked=("g00", "g03", "g00 ")),
        Behaviour("keys are beginnings to the source", select=_matching(lambda a, b: a.startswith(b)), rows=_ALL_CASES),
        Behaviour("keys come back in capitals", page=_upper),
        Behaviour("keys do not come back", page=_without_key, sound=True, **_ALONE),
        Behaviour("keys do not come back from a batch", page=_without_key, **_BATCH),
        Behaviour("rows of other keys beside", select=_strays, sound=True,
                  where=lambda w: w.access == "batch" or not w.dialect.paged, because="they are of the last page"),
        Behaviour("the key is ignored", select=lambda turn, rows: list(ROWS)),
        Behaviour("one answer to all keys", select=lambda turn, rows: list(ROWS[:4])),
        Behaviour("one answer to all keys, without rows", page=lambda turn, page: (setattr(page, "records", []), page.go_on(None))[0],
                  asked=_MANY, warned=True),
        Behaviour("404 to all keys", reply=_answers_all(status(404, b'{"error": "no such key"}')), asked=("g00", "g03", *_MANY),
                  table={"on_status": [{"status_code": 404, "action": "empty"}]}, warned=True, judge=lambda found, world: not found),
        Behaviour("404 to all keys, undeclared", reply=_answers_all(status(404, b'{"error": "no such key"}'))),
        Behaviour("404 for nothing, declared", reply=_nothing_found(status(404)), sound=True,
                  table={"on_status": [{"status_code": 404, "action": "empty"}]}),
        Behaviour("404 for nothing, undeclared", reply=_nothing_found(status(404))),
        Behaviour("204 for nothing", reply=_nothing_found(status(204)), sound=True),
        Behaviour("an empty body for nothing", reply=_nothing_found(status(200, b""))),
        Behaviour("{} for nothing", reply=_nothing_found(status(200, b"{}"))),
        Behaviour("null in place of records for nothing", reply=_nothing_found(status(200, b'{"items": null}'))),
        Behaviour("not found, as a record", page=lambda turn, page: None if page.records or page.position else
                  setattr(page, "records", [{"error": "not found"}])),
        Behaviour("not found, as an error beside no records", page=lambda turn, page: None if page.records else
                  page.extra.update(error={"code": 404})),
        Behaviour("many keys, none of them known", asked=_MANY, sound=True),
        Behaviour("a quota that is used up half way", page=lambda turn, page: instead({"error": "quota"})(turn, page)
                  if turn.number > 2 else None),
        Behaviour("a quota that is used up half way, beside no records", page=lambda turn, page: (
            setattr(page, "records", []), members(message="quota", success=False)(turn, page), page.go_on(None))[0]
            if turn.number > 2 else None),
    )
)  # fmt: skip
