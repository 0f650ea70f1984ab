"""XML and HTML tables as plain data, to be read like JSON: every value is text until a column's type says more."""

from __future__ import annotations

import html.parser
import xml.etree.ElementTree as ET
from typing import Any

from fff_sources.http.response.jsonpath import TEXT
from fff_sources.http.shaping import MalformedMarkupError


def xml_value(body: bytes | str) -> dict[str, Any]:
    """An XML document as `{root: value}`.

    An element is its text when it has nothing else, otherwise an object of its attributes (as `@name`), its
    own text (as `#text`, also what stands between and behind its children) and its children; children of one
    name become a list. Namespaces are left out.
    """
    if _declares_entities(body):
        raise MalformedMarkupError("XML that declares entities is not read")
    try:
        root = ET.fromstring(body)  # noqa: S314 - entities, the danger of it, are refused above
    except ET.ParseError as error:
        raise MalformedMarkupError(str(error)) from error
    return {_local(root.tag): _element(root)}


def html_tables(text: str) -> list[list[dict[str, str | None]]]:
    """Every table of a page as records, its first row (or the row of `th` cells) being the header."""
    reader = _Tables()
    reader.feed(text)
    reader.close()
    tables = [table for table in reader.tables if table]
    if not tables:
        raise MalformedMarkupError("the page has no table")
    return [_rows(table) for table in tables]


def _declares_entities(body: bytes | str) -> bool:
    """Whether `<!ENTITY` stands anywhere, whatever the encoding: an XML parser reads no other than these."""
    if isinstance(body, str):
        return "<!ENTITY" in body
    return b"<!ENTITY" in (body.replace(b"\0", b"") if b"\0" in body[:4] else body)


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _element(element: ET.Element) -> Any:
    text = "".join((element.text or "", *(child.tail or "" for child in element))).strip()
    if not len(element) and not element.attrib:
        return text or None
    value: dict[str, Any] = {f"@{_local(name)}": content for name, content in element.attrib.items()}
    if text:
        value[TEXT] = text
    children: dict[str, list[Any]] = {}
    for child in element:
        children.setdefault(_local(child.tag), []).append(_element(child))
    value |= {name: items[0] if len(items) == 1 else items for name, items in children.items()}
    return value


def _rows(table: list[list[str]]) -> list[dict[str, str | None]]:
    header, *rows = table
    return [{name: cell or None for name, cell in zip(header, row, strict=False)} for row in rows if row]


class _Tables(html.parser.HTMLParser):
    """Collects the cells of every outermost table."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[list[list[str]]] = []
        self._depth = 0
        self._cell: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        if tag == "table":
            self._depth += 1
            if self._depth == 1:
                self.tables.append([])
        elif self._depth == 1 and tag == "tr":
            self._end_cell()
            self.tables[-1].append([])
        elif self._depth == 1 and tag in ("td", "th"):
            self._end_cell()
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        if tag == "table" and self._depth:
            self._end_cell()
            self._depth -= 1
        elif self._depth == 1 and tag in ("td", "th", "tr"):
            self._end_cell()

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)

    def _end_cell(self) -> None:
        if self._cell is not None:
            if not self.tables[-1]:
                self.tables[-1].append([])
            self.tables[-1][-1].append(" ".join("".join(self._cell).split()))
            self._cell = None
