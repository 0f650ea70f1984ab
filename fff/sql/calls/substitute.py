"""What stands in the text for a call whose function's table is in FROM: its alias, its columns, its value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fff.catalog import Table
from fff.errors import Span
from fff.sql.binder.names import not_taken
from fff.sql.binder.scopes import SelectScope
from fff.sql.calls.find import Argument, Call
from fff.sql.syntax.aggregates import has_aggregate, is_aggregate, is_aggregated
from fff.sql.syntax.edits import Edit
from fff.sql.syntax.statement import Node, exp, qualified, quote
from fff.structs import Struct

#: Longer texts of calls are cut in aliases.
_ALIAS_LENGTH = 60


class Called(Struct, frozen=True):
    """A call and the alias under which its function's table stands in FROM."""

    call: Call
    alias: str
    arguments: tuple[Argument, ...]

    @property
    def table(self) -> Table:
        """The function's table."""
        return self.call.table

    @property
    def source(self) -> str:
        """The entry of FROM."""
        return f"{quote(self.table.source)}.{quote(self.table.name)} AS {quote(self.alias)}"

    @property
    def value(self) -> str:
        """The column of the function's value."""
        return self._column(len(self.table.columns) - 1)

    def asked(self, texts: Sequence[str]) -> str:
        """The condition that the arguments are these."""
        return " AND ".join(f"{self._column(index)} = {text}" for index, text in enumerate(texts))

    def _column(self, index: int) -> str:
        return qualified(self.alias, self.table.columns[index].name)


def called(
    scope: SelectScope, calls: Sequence[Call], arguments: Mapping[str, Sequence[Argument]]
) -> dict[str, Called]:
    """The calls that are written differently, by their keys, each under an alias of its own: its text."""
    taken = {source.alias.lower() for source in scope.sources}
    called_once: dict[str, Called] = {}
    for call in calls:
        if call.key in called_once:
            continue
        text = call.text if len(call.text) <= _ALIAS_LENGTH else f"{call.text[:_ALIAS_LENGTH]}…)"
        alias = not_taken(text, taken)
        taken.add(alias.lower())
        called_once[call.key] = Called(call, alias, tuple(arguments[call.key]))
    return called_once


def value_edits(select: Node, calls: Sequence[Call], tables: Mapping[str, Called]) -> list[Edit]:
    """The values in the places of the calls.

    Where rows are grouped a value is not a key of the groups, but its arguments are: it is any of the group's, and the
    arguments stand beside it, so that Spark refuses those that are no keys as it would under the function.
    """
    grouped = is_aggregated(select)
    keys = _group_keys(select)
    edits = []
    for call in calls:
        one = tables.get(call.key)
        if one is None:
            continue
        parts: list[str | Span] = [one.value]
        if grouped and not _is_row_wise(call, select) and not _is_key(call, select, calls, keys):
            parts = ["CASE WHEN "]
            for argument in one.arguments:
                if argument.kind != "constant":
                    parts += ["(", argument.span, ") IS NULL OR "]
            parts.append(f"TRUE THEN any_value({one.value}) END")
            parts = _own_arguments(parts, one, call)
        edits.append(Edit(call.span, tuple(parts)))
    return edits


def _own_arguments(parts: Sequence[str | Span], one: Called, call: Call) -> list[str | Span]:
    """The arguments as they are written at this place of those where the call stands."""
    places = dict(zip((argument.span for argument in one.arguments), call.places, strict=True))
    return [part if isinstance(part, str) else places[part] for part in parts]


def _group_keys(select: Node) -> list[Node]:
    group = select.args.get("group")
    return [] if group is None else list(group.find_all(exp.Literal, exp.Column, exp.Anonymous))


def _is_row_wise(call: Call, select: Node) -> bool:
    """Whether a call stands where single rows are seen: in an aggregate, WHERE or GROUP BY."""
    at = call.whole
    while at.parent is not None and at.parent is not select:
        at = at.parent
        if is_aggregate(at) or isinstance(at, exp.Filter):
            return True
    return str(at.arg_key or "").rstrip("_") in {"where", "group"}


def _is_key(call: Call, select: Node, calls: Sequence[Call], keys: Sequence[Node]) -> bool:
    """Whether GROUP BY names the value of a call: by the call, by the alias or the number of its column, or by ALL."""
    group = select.args.get("group")
    if group is None:
        return False
    if any(other.key == call.key and other.node in keys for other in calls):
        return True
    for number, item in enumerate(select.expressions, 1):
        if all(part is not call.node for part in item.walk()):
            continue
        named = {node.name.lower() for node in keys if isinstance(node, exp.Column)}
        numbered = {node.name for node in keys if isinstance(node, exp.Literal)}
        every = bool(group.args.get("all")) and not has_aggregate(item)
        if every or str(number) in numbered or (item.alias and item.alias.lower() in named):
            return True
    return False
