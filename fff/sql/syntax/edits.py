"""Changes to the user's own text: what Spark runs is edited, not generated, so that it names and computes what was written."""

from __future__ import annotations

from collections.abc import Sequence

from fff.errors import Span
from fff.structs import Struct


class Edit(Struct, frozen=True):
    """Text to put in the place of a span; parts that are spans themselves are kept, with the edits inside them."""

    span: Span
    parts: tuple[str | Span, ...]


def edit(span: Span, text: str) -> Edit:
    """Put a text in the place of a span."""
    return Edit(span, (text,))


def applied(sql: str, span: Span, edits: Sequence[Edit]) -> str:
    """The text of a span with the edits that fall into it; of edits that overlap, the outermost counts."""
    return "".join(
        sql[piece.start : piece.end] if isinstance(piece, Span) else piece[0] for piece in pieces(span, edits)
    )


def pieces(span: Span, edits: Sequence[Edit]) -> list[Span | tuple[str, Span]]:
    """What a span becomes, in order: places whose text stays, and new texts, each with the place it stands for."""
    return _pieces(span, sorted(set(edits), key=lambda one: (one.span.start, -one.span.end)))


def _pieces(span: Span, edits: Sequence[Edit], within: Edit | None = None) -> list[Span | tuple[str, Span]]:
    parts: list[Span | tuple[str, Span]] = []
    at = span.start
    for one in edits:
        inside = span.start <= one.span.start and one.span.end <= span.end
        if not inside or one.span.start < at or one == within:
            continue
        parts.append(Span(at, one.span.start))
        for part in one.parts:
            parts += [(part, one.span)] if isinstance(part, str) else _pieces(part, edits, one)
        at = one.span.end
    return [*parts, Span(at, span.end)]
