"""Changes to the user's own text: what Spark runs is edited, not generated, so that it names and computes what was written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fff.errors import Span


@dataclass(frozen=True)
class Edit:
    """Text to put in the place of a span; parts that are spans themselves are kept, with the edits inside them."""

    span: Span
    parts: tuple[str | Span, ...]


def edit(span: Span, text: str) -> Edit:
    """Put a text in the place of a span."""
    return Edit(span, (text,))


def applied(sql: str, span: Span, edits: Sequence[Edit]) -> str:
    """The text of a span with the edits that fall into it; of edits that overlap, the outermost counts."""
    return _applied(sql, span, sorted(set(edits), key=lambda one: (one.span.start, -one.span.end)))


def _applied(sql: str, span: Span, edits: Sequence[Edit], within: Edit | None = None) -> str:
    parts, at = [], span.start
    for one in edits:
        inside = span.start <= one.span.start and one.span.end <= span.end
        if not inside or one.span.start < at or one == within:
            continue
        parts.append(sql[at : one.span.start])
        parts += [part if isinstance(part, str) else _applied(sql, part, edits, one) for part in one.parts]
        at = one.span.end
    return "".join([*parts, sql[at : span.end]])
