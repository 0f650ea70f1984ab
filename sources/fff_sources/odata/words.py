"""The query options of OData requests: `$select`, `$filter`, `$orderby`, `$count`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from fff.catalog import Key, Keys
from fff.quals import Qual
from fff.stats import AccessMeter
from fff.structs import lazy_pattern, replace
from fff_sources.http.portal import FilterWords
from fff_sources.http.tables import Question
from fff_sources.odata.edm import Property, literal

_SHORT = lazy_pattern(rb'"@(nextLink|count)"(?=\s*:)')  # within a text the second quote is escaped
_OPERATORS = {"=": "eq", "<>": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


class ODataWords(FilterWords, frozen=True):
    """How one access method asks.

    Args:
        entity_set: the last part of the URL.
        properties: by column.
        keys: the columns whose values are asked for; none for a scan.
        condition: a `$filter` of the spec's own, which holds for every row of the table.
        operator: how several keys are said: `in`, or comparisons joined by `or`.
        order: what a scan is ordered by, falling with `-` before the name, where its pages are counted or it
            was asked for.
        key: the columns that tell entities apart, where they are known.
        page_size: rows a page should have, where the service chooses its pages.
        count: whether to ask for the total.
    """

    entity_set: str
    properties: Mapping[str, Property]
    keys: tuple[str, ...] = ()
    condition: str | None = None
    operator: str = "in"
    order: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    page_size: int | None = None
    count: bool = False

    def sorted(self, by: str) -> ODataWords:
        """The same, ordered by a column, and by the key where rows are alike in that."""
        return replace(self, order=(by, *(name for name in self.key if name != by.removeprefix("-"))))

    def askable(self, keys: Keys) -> Sequence[Key]:
        """The keys that are values of their properties' types."""
        return [key for key in keys if None not in self._literals(key)]

    def question(self, columns: Sequence[str], keys: Keys, asked: Mapping[str, str]) -> Question:
        """The request: only the columns that are needed, of the rows that are asked for."""
        wanted = list(columns) or [*self.keys, *self.properties][:1]
        members = dict.fromkeys(self.properties[name].name.partition("/")[0] for name in wanted)
        selected = [name for name in members if not name.startswith("@")]  # annotations come unasked
        params = {"$select": ",".join(selected)} if selected else {}
        conditions = [f"({self.condition})"] if self.condition is not None else []
        if keys:
            conditions.append(self._bound(keys))
        conditions += [text for qual in self.quals if (text := self._filter(qual)) is not None]
        if conditions:
            params["$filter"] = " and ".join(conditions) if len(conditions) > 1 else conditions[0]
        if self.order:
            params["$orderby"] = ",".join(map(self._ordered, self.order))
        if self.count and not keys:
            params["$count"] = "true"
        headers = {"Accept": "application/json", "OData-MaxVersion": "4.01"}
        if self.page_size is not None:
            headers["Prefer"] = f"odata.maxpagesize={self.page_size}"
        return Question(quote(self.entity_set), (*params.items(), *asked.items()), headers)

    def mended(self, body: bytes, meter: AccessMeter) -> bytes:  # noqa: ARG002
        """An answer with the names of annotations in full: OData 4.01 lets services leave out `odata.`."""
        return _SHORT.sub(rb'"@odata.\1"', body) if b'"@nextLink"' in body or b'"@count"' in body else body

    def _ordered(self, by: str) -> str:
        name = self.properties[by.removeprefix("-")].name
        return f"{name} desc" if by.startswith("-") else name

    def _filter(self, qual: Qual) -> str | None:
        """A qualifier as a Boolean expression; None where the property's type has no such value."""
        prop = self.properties[qual.column]
        if qual.operator == "like":
            return _matches(prop, qual.value)
        text = literal(prop.edm, qual.value)
        return None if text is None else f"{prop.name} {_OPERATORS[qual.operator]} {text}"

    def _literals(self, key: Key) -> list[str | None]:
        return [literal(self.properties[name].edm, value) for name, value in zip(self.keys, key, strict=True)]

    def _bound(self, keys: Keys) -> str:
        names = [self.properties[name].name for name in self.keys]
        if len(keys) > 1 and len(names) == 1 and self.operator == "in":
            return f"{names[0]} in ({','.join(str(self._literals(key)[0]) for key in keys)})"
        rows = [
            " and ".join(f"{name} eq {text}" for name, text in zip(names, self._literals(key), strict=True))
            for key in keys
        ]
        return rows[0] if len(rows) == 1 else "(" + " or ".join(rows) + ")"


def _matches(prop: Property, pattern: str) -> str | None:
    """What every text that matches an SQL pattern of `%` has: its pieces, wherever; None for a pattern without pieces."""
    begin, *inner, end = pattern.split("%") if "%" in pattern else (pattern, pattern)
    pieces = [("startswith", begin), *(("contains", piece) for piece in inner), ("endswith", end)]
    calls = [f"{function}({prop.name},{literal('Edm.String', piece)})" for function, piece in pieces if piece]
    return " and ".join(calls) or None
