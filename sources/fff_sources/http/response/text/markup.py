"""XML as plain data, to be read like JSON: every value is text until a column's type says more."""

from __future__ import annotations

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
