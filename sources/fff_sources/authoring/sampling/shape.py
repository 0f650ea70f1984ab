"""Where in an answer the records are: guessed from names, sizes and what stands beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fff.structs import lazy_pattern
from fff_sources.authoring.draft import singular
from fff_sources.http.response.jsonpath import quoted

_LISTS = frozenset({
    "results", "result", "items", "item", "data", "records", "record", "rows", "row", "value", "values",
    "entries", "entry", "docs", "documents", "features", "hits", "list", "objects", "elements",
    "content", "contents", "nodes", "edges", "collection", "members", "bindings", "resources",
    "observations", "response",
})  # fmt: skip
_NOT_LISTS = frozenset({
    "facets", "facet", "buckets", "aggregations", "links", "link", "errors", "error", "warnings",
    "included", "columns", "fields", "filters", "schema", "messages", "search_facets", "sort",
    "parameters", "debug", "meta", "metadata", "info",
})  # fmt: skip
_HEADERS = frozenset(
    {"columns", "fields", "header", "headers", "column_names", "columnnames", "names", "cols", "labels"}
)
_BESIDE = lazy_pattern(
    r"^@|^_|total|count|page|limit|offset|size|next|prev|first|last|link|cursor|token|more|meta|info|status|success|message|version|error"
    r"|warning|help|took|time|quota|backoff|query|request|response|kind|type|etag|copyright|licen[cs]e|sort|facet|aggregation|num|start|rows"
    r"|header|result|self|url|href|param|filter|generated|bbox|crs|incomplete|translation|restriction",
    re.IGNORECASE,
)
_WRAPPERS = ("data", "result", "results", "message", "item", "record", "response", "content", "value")
_DEPTH = 4
_PLAIN = lazy_pattern(r"[^.\[\]'\"*$]+")


@dataclass(frozen=True)
class Shape:
    """The place of the records, those of the sample, and the answer around them.

    `single`: the answer is one record. `header`: the members of records that are arrays. `sure`: nothing else
    would do.
    """

    selector: str
    records: list[Any]
    single: bool = False
    header: tuple[str, ...] = ()
    sure: bool = True


def stands_beside(name: str) -> bool:
    """Whether a member of that name belongs to the envelope of a list more likely than to a record."""
    return _BESIDE.search(name) is not None


def step(path: str, *names: str | int) -> str:
    """A path further down by these steps, in the words of `data_selector`."""
    for name in names:
        here = "" if path == "$" else path
        if isinstance(name, int):
            path = f"{here}[{name}]"
        elif _PLAIN.fullmatch(name) and name == name.strip():
            path = f"{here}.{name}" if here else name
        else:
            path = here + quoted(name)
    return path


def find_records(body: Any, collection: str = "", *, last_is_id: bool = False) -> Shape:
    """The records of an answer.

    `collection` is what its URL is about, `last_is_id` whether it seems to name one thing.
    """
    if isinstance(body, list):
        return _of_list(body)
    if not isinstance(body, dict):
        return Shape("$", [] if body is None else [body], single=True)
    if (table := _table(body)) is not None:
        return table
    shapes = [
        (_score(path, rows, beside, collection) - (2 if last_is_id else 0), path, rows)
        for path, rows, beside in _arrays(body, "$", 0)
    ]
    shapes = [one for one in shapes if one[0] >= 1]
    if shapes:
        best = max(shapes, key=lambda one: one[0])
        rivals = [one for one in shapes if one is not best and best[0] - one[0] < 1]
        return Shape(best[1], best[2], sure=not rivals)
    path, record = _unwrapped(body)
    if _alike(record):
        return Shape("*" if path == "$" else f"{path}.*", list(record.values()), sure=False)
    return Shape(path, [record] if record else [], single=True)


def _of_list(body: list[Any]) -> Shape:
    objects = [item for item in body if isinstance(item, dict)]
    lists = [(index, item) for index, item in enumerate(body) if isinstance(item, list)]
    if body and isinstance(body[0], dict) and len(lists) == 1 and len(body) == 2:  # [what it is about, rows]
        return Shape(step("$", lists[0][0]), lists[0][1])
    if len(lists) == len(body) > 1:
        header = body[0]
        if all(isinstance(cell, str) for cell in header) and len({*header}) == len(header):
            return Shape("[1:]", body[1:], header=tuple(header))
        return Shape(
            "$", body, header=tuple(f"c{number}" for number in range(1, len(header) + 1)), sure=False
        )
    return Shape("$", body, sure=len(objects) == len(body))


def _table(body: Mapping[str, Any]) -> Shape | None:
    """Records that are arrays, beside the names of their members: `{"columns": ["id", …], "rows": [[1, …], …]}`."""
    lists = [one for one in _lists(body, "$", 0) if one[2]]
    headers = [
        names for _, name, value in lists if name.lower() in _HEADERS and (names := _names(value)) is not None
    ]
    for path, _, rows in lists:
        widths = {len(row) if isinstance(row, list) else 0 for row in rows}
        for header in headers:
            if widths == {len(header)}:
                return Shape(path, rows, header=header)
    return None


def _lists(value: Mapping[str, Any], path: str, depth: int) -> Iterator[tuple[str, str, list[Any]]]:
    for name, item in value.items():
        if isinstance(item, list):
            yield step(path, name), name, item
        elif isinstance(item, dict) and depth < _DEPTH:
            yield from _lists(item, step(path, name), depth + 1)


def _names(value: list[Any]) -> tuple[str, ...] | None:
    """Different texts, or the names of different things."""
    named = [one.get("name") if isinstance(one, dict) else one for one in value]
    texts = [one for one in named if isinstance(one, str)]
    return tuple(texts) if len({*texts}) == len(value) else None


def _arrays(
    value: Mapping[str, Any], path: str, depth: int
) -> Iterator[tuple[str, list[Any], Sequence[Mapping[str, Any]]]]:
    """Arrays of objects (or empty ones) that no other array holds, with the objects around them, innermost first."""
    for name, item in value.items():
        here = step(path, name)
        if isinstance(item, list):
            if all(isinstance(one, dict) for one in item):
                yield here, item, (value,)
        elif isinstance(item, dict) and depth < _DEPTH:
            for inner, rows, around in _arrays(item, here, depth + 1):
                yield inner, rows, (*around, value)


def _score(path: str, rows: list[Any], around: Sequence[Mapping[str, Any]], collection: str) -> float:
    names = re.split(r"[.\[\]]+", path.strip("$").lower())
    last = names[-1].strip("'\"")
    score = 1.0 + (len(rows) > 1) - 0.5 * (len(around) - 1)
    wanted = {collection.lower(), singular(collection.lower()), collection.lower() + "s"} - {""}
    if last in _LISTS or last in wanted or singular(last) in wanted:
        score += 4
    if not rows:
        score -= 2
    score -= 5 * sum(name.strip("'\"") in _NOT_LISTS for name in names)
    for depth, value in enumerate(around):
        others = [name for name in value if not _BESIDE.search(name) and name.lower() not in _LISTS]
        score -= 0.6 * max(0, len(others) - 1) * (1 if depth == 0 else 0.5)
    return score


def _unwrapped(body: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A single record, out of an envelope such as `{status, message: {…}}`."""
    for name in _WRAPPERS:
        inner = body.get(name)
        others = [other for other in body if other != name and not _BESIDE.search(other)]
        if isinstance(inner, dict) and inner and not others:
            path, record = _unwrapped(inner) if len(inner) == 1 else ("$", inner)
            return (step("$", name) if path == "$" else f"{name}.{path}"), record
    if len(body) == 1:  # XML has one root
        (name, inner), *_ = body.items()
        if isinstance(inner, dict) and inner:
            path, record = _unwrapped(inner)
            return (step("$", name) if path == "$" else f"{step('$', name)}.{path}"), record
    return "$", dict(body)


def _alike(record: Mapping[str, Any]) -> bool:
    """Whether the values of an object are records of one kind."""
    values = list(record.values())
    if len(values) < 3 or not all(isinstance(value, dict) and value for value in values):
        return False
    common = set(values[0]).intersection(*values)
    return len(common) * 2 > max(map(len, values))
