"""The document and the variables of a GraphQL request.

Values travel as variables, never as text of the document.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fff.catalog import Key, Keys
from fff.structs import Struct
from fff.web.types import Response, Verdict
from fff_sources.graphql import fields
from fff_sources.graphql.fields import SelectedField, Selection
from fff_sources.http.response.json import MalformedJSON, Raw, decode
from fff_sources.http.response.jsonpath import JsonPath, first, kind_of, parse_path
from fff_sources.http.tables import Question
from fff_sources.http.templates import json_value, text_of

#: What to say in a spec.
ONE_PAGE = "`paginator: single_page` where one page is all there is"
_MOST_SHOWN = 3  # errors of one answer
_INT = range(-(2**31), 2**31)  # of GraphQL
_ACCEPT = {"Accept": "application/json"}
_FOLLOWS = parse_path("hasNextPage")
_REFUSED = frozenset({400, 422})  # a document that is not valid, says the body


#: What services call a question that came too soon, in capitals or not: with no status of its own.
_TOO_SOON = frozenset({"throttled", "ratelimited", "ratelimitexceeded", "toomanyrequests"})


class _Error(Struct):
    message: str = "an error without a message"
    type: object = None  # GitHub has its codes here
    extensions: object = None

    @property
    def came_too_soon(self) -> bool:
        code = self.extensions.get("code") if isinstance(self.extensions, dict) else self.type
        return str(code or self.type).lower().replace("_", "") in _TOO_SOON


class _GraphQLAnswer(Struct):
    data: Raw = Raw(b"null")
    errors: list[_Error] | None = None


@dataclass(frozen=True)
class ColumnSelection:
    """How a column is had: its place in a record, and the selection that brings it there where a spec writes one."""

    path: JsonPath
    select: str | None = None


@dataclass(frozen=True)
class GraphQLWords:
    """How one access method asks.

    Args:
        way: the fields from the query type down to the list or connection, paging arguments included.
        columns: by name.
        within: fields between the last of `way` and a record (`edges`, `node`).
        beside: what else is selected there (`pageInfo`).
        at_root: what else is selected at the top, as text.
        types: of all variables.
        keys: the columns whose values are variables; none for a scan.
        batch: whether the variable is a list of keys.
        size: how many records come at most, where more may be there, and the argument that says so.
    """

    way: tuple[SelectedField, ...]
    columns: Mapping[str, ColumnSelection]
    within: tuple[str, ...] = ()
    beside: Selection = field(default_factory=dict)
    at_root: str = ""
    types: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    batch: bool = False
    size: tuple[int, str] | None = None

    def askable(self, keys: Keys) -> Sequence[Key]:
        """The keys that are values of their variables' types."""
        return [
            key
            for key in keys
            if all(_fits(self.types[name], value) for name, value in zip(self.keys, key, strict=True))
        ]

    def question(self, columns: Sequence[str], keys: Keys, asked: Mapping[str, str]) -> Question:
        """The request, selecting only the columns that are needed."""
        variables: dict[str, object] = {}
        for name, text in asked.items():
            variables[name] = int(text) if base_of(self.types[name]) == "Int" else text
        for position, name in enumerate(self.keys):
            values = [_value(self.types[name], key[position]) for key in keys]
            variables[name] = values if self.batch else values[0]
        body: dict[str, object] = {"query": self.document(columns)}
        if variables:
            body["variables"] = variables
        return Question(headers=_ACCEPT, json=body, accept=_REFUSED)

    def document(self, columns: Sequence[str]) -> str:
        """The query for some columns."""
        parts = [self.columns[name] for name in columns or [*self.keys, *self.columns][:1]]
        tree = fields.selection(part.path for part in parts if part.select is None)
        record = fields.written(tree, dict.fromkeys(part.select for part in parts if part.select is not None))
        inner = fields.nested(map(SelectedField, self.within), record)
        if self.beside:
            inner += " " + fields.written(self.beside)
        selected = fields.nested(self.way, inner)
        if self.at_root:
            selected += " " + self.at_root
        used = set(re.findall(r"\$([_A-Za-z]\w*)", selected))
        declared = ", ".join(f"${name}: {kind}" for name, kind in self.types.items() if name in used)
        return f"query{f'({declared})' if declared else ''} {{ {selected} }}"

    def verdict(self, response: Response) -> Verdict | None:
        """What an answer says of itself that another attempt may mend."""
        return throttled(response)

    def failure(self, response: Response) -> str | None:
        """The errors of an answer; part of the data would look like all of it."""
        failure = failure_of(response)
        if failure is None:
            return self._open_end(response.body) if self.within else self._full(response.body)
        wrong = [name for name in self.types if "ariable" in failure and re.search(rf"\b{name}\b", failure)]
        return f"{failure}; name its type in the spec: types: {{{wrong[0]}: …}}" if wrong else failure

    def _full(self, body: bytes) -> str | None:
        """That as many records came as were asked for: the first of them would look like all."""
        records = None if self.size is None else first(body, fields.place(self.way))
        if self.size is None or records is None or kind_of(records) != "[":
            return None
        most, name = self.size
        if len(decode(records, type=list[Raw])) < most:
            return None
        return (
            f"{self.way[-1]} brought as many records as its {name} allows, and may have more: "
            f"declare its paginator, which is {ONE_PAGE}"
        )

    def _open_end(self, body: bytes) -> str | None:
        """What a connection leaves open of its pages: what is not said there would look like the end."""
        connection = first(body, fields.place(self.way))
        if connection is None or kind_of(connection) != "{":
            return None  # without rows, or an error by itself
        name = ".".join(one.name for one in self.way)
        members = decode(connection, type=dict[str, Raw])
        info, records = (members.get(part, Raw(b"")) for part in ("pageInfo", self.within[0]))
        if kind_of(info) == "n" and kind_of(records) == "[" and not decode(records):
            return None  # nothing was found, and nothing is told of it
        follows = kind_of(first(info, _FOLLOWS) or b"")
        if follows in ("", "n"):
            below = f" and columns at `{self.within[1]}.…`" if self.within[1:] else ""
            return (
                f"pageInfo of {name} does not say whether a page follows (hasNextPage); where one page is "
                f"all there is, `field: ….{self.within[0]}` with `paginator: single_page`{below} reads it"
            )
        if follows == "t" and kind_of(records) == "n":
            return f"{name} has null for {self.within[0]}, and says that a page follows"
        return None


def throttled(response: Response) -> Verdict | None:
    """Whether all that an answer says is that it was asked for too soon."""
    if b'"errors"' not in response.body:
        return None
    try:
        errors = decode(response.body, type=_GraphQLAnswer).errors or []
    except MalformedJSON:
        return None  # whoever reads it says so
    soon = errors and all(error.came_too_soon for error in errors)
    return Verdict("slow_down", errors[0].message) if soon else None


def failure_of(response: Response) -> str | None:
    """What an answer says went wrong; None where it has data and no errors."""
    try:
        answer = decode(response.body, type=_GraphQLAnswer)
    except MalformedJSON:
        answer = _GraphQLAnswer()
        if response.status not in _REFUSED:
            return "the answer is no GraphQL response in JSON"
    if answer.errors:
        messages = "; ".join(" ".join(error.message.split()) for error in answer.errors[:_MOST_SHOWN])
        more = len(answer.errors) - _MOST_SHOWN
        return f"{messages}; and {more} more" if more > 0 else messages
    if response.status in _REFUSED:
        return f"HTTP {response.status}"
    return "the answer has no data" if bytes(answer.data) == b"null" else None


def default_type(spark: str, *, batch: bool) -> str:
    """The type of a variable for values of a column."""
    kind = spark.lower()
    known = {"boolean": "Boolean", "double": "Float", "float": "Float", "real": "Float"}
    known |= dict.fromkeys(
        ("tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long"), "Int"
    )
    name = known.get(kind, "String")
    return f"[{name}!]!" if batch else f"{name}!"


def base_of(kind: str) -> str:
    """The name of a type without what wraps it."""
    return kind.strip("[]! ")


def _fits(kind: str, value: object) -> bool:
    return base_of(kind) != "Int" or (
        isinstance(value, int) and not isinstance(value, bool) and value in _INT
    )


def _value(kind: str, value: object) -> object:
    """A key as JSON: as text where text is meant."""
    return text_of(value) if base_of(kind) in ("String", "ID") else json_value(value)
