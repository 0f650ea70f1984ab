"""Templates of other tools, read as references where they are nothing else. They are never executed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fff.structs import lazy_pattern
from fff_sources.importing.fidelity import shown

_LONGEST = 2_000  # characters of a text with a template in it
_EXPRESSION = lazy_pattern(r"\{\{(.*?)\}\}", re.DOTALL)
_ROOT = lazy_pattern(r"\s*([A-Za-z_]\w*)")
_STEP = lazy_pattern(
    r"""\.get\(\s*(?:'(?P<got>[^'\\]*)'|"(?P<got2>[^"\\]*)")\s*(?:,\s*(?P<default>\{\s*\}|\[\s*\]|'[^'\\]*'|"[^"\\]*"|[A-Za-z]+|-?\d+)\s*)?\)
      | \.(?P<name>[A-Za-z_]\w*)(?!\s*\()
      | \[\s*(?:'(?P<key>[^'\\]*)'|"(?P<key2>[^"\\]*)"|(?P<index>-?\d+))\s*\]""",
    re.VERBOSE,
)
_LITERAL = lazy_pattern(r"""\s*(?:'([^'\\]*)'|"([^"\\]*)"|(-?\d+(?:\.\d+)?))\s*""")
_OR = lazy_pattern(r"""(.+?)\s+or\s+('[^'\\]*'|"[^"\\]*"|-?\d+)\s*""", re.DOTALL)
_JOINED = lazy_pattern(r"""\s*['"]([^'"\\]{0,3})['"]\.join\((.+)\)\s*""", re.DOTALL)
_FILTER = lazy_pattern(r"(.+?)\s*\|\s*(string|int|trim|urlencode)\s*", re.DOTALL)


class UntranslatableError(Exception):
    """A part of a document that the spec language has no words for; the text says which and why."""


@dataclass(frozen=True)
class TemplateReference:
    """`config['a']['b']`, `response.get('next', {})`, …: where a value comes from."""

    root: str
    path: tuple[str | int, ...]
    default: str | None = None


def reference_of(expression: str) -> TemplateReference | None:
    """The reference that an expression is; None where it computes something."""
    match = _ROOT.match(expression)
    if match is None:
        return None
    root, position = match[1], match.end()
    path: list[str | int] = []
    default: str | None = None
    while (step := _STEP.match(expression, position)) is not None:
        index = step["index"]
        names = (step["got"], step["got2"], step["name"], step["key"], step["key2"])
        path.append(int(index) if index is not None else next(one for one in names if one is not None))
        default, position = _literal(step["default"]), step.end()
    return TemplateReference(root, tuple(path), default) if not expression[position:].strip() else None


def literal_of(expression: str) -> str | None:
    """The text or number that an expression is."""
    match = _LITERAL.fullmatch(expression)
    return None if match is None else next(one for one in match.groups() if one is not None)


def pieces(text: str) -> Iterator[tuple[bool, str]]:
    """A text taken apart: whether each piece is an expression, and the piece.

    Raises UntranslatableError where it holds statements, or is too long.
    """
    if "{%" in text or "{#" in text or ("{{" in text and len(text) > _LONGEST):
        raise UntranslatableError(f"a template that computes: {shown(text)}")
    position = 0
    for match in _EXPRESSION.finditer(text):
        if match.start() > position:
            yield False, text[position : match.start()]
        yield True, match[1].strip()
        position = match.end()
    if position < len(text):
        yield False, text[position:]


def only_expression(text: Any) -> str | None:
    """The one expression that a text is made of."""
    if not isinstance(text, str):
        return None
    try:
        parts = list(pieces(text.strip()))
    except UntranslatableError:
        return None
    return parts[0][1] if len(parts) == 1 and parts[0][0] else None


def filled(
    text: str,
    value_of: Callable[[TemplateReference], str],
    plain: Callable[[str], str],
    note: Callable[[str], None],
) -> str:
    """A text with its expressions replaced.

    `value_of` says what stands for a reference, `plain` how other text is written; `note` is what hears of
    what is only nearly the same. Raises UntranslatableError.
    """
    parts: list[str] = []
    for is_expression, part in pieces(text):
        parts.append(_value(part, value_of, plain, note) if is_expression else plain(part))
    return "".join(parts)


def _value(
    expression: str,
    value_of: Callable[[TemplateReference], str],
    plain: Callable[[str], str],
    note: Callable[[str], None],
) -> str:
    if (literal := literal_of(expression)) is not None:
        return plain(literal)
    if (reference := reference_of(expression)) is not None:
        return value_of(reference)
    if (match := _OR.fullmatch(expression)) is not None and (reference := reference_of(match[1])) is not None:
        return value_of(TemplateReference(reference.root, reference.path, _literal(match[2])))
    if (match := _JOINED.fullmatch(expression)) is not None and (
        reference := reference_of(match[2])
    ) is not None:
        note(f"a list: write its values joined by {match[1]!r}")
        return value_of(TemplateReference(reference.root, reference.path))
    if (match := _FILTER.fullmatch(expression)) is not None and (
        reference := reference_of(match[1])
    ) is not None:
        note(f"`| {match[2]}` is left out")
        return value_of(reference)
    raise UntranslatableError(f"a template that computes: {shown(expression)}")


def _literal(text: str | None) -> str | None:
    if text is None or text[:1] in "{[" or text in ("None", "none", "True", "False", "true", "false"):
        return None
    return literal_of(text)
