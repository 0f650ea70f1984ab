"""A statement's text after edits, and where in the user's own text each part of it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from fff.errors import QueryError, Span
from fff.sql.syntax.edits import Edit, pieces
from fff.structs import Struct


class _Piece(Struct, frozen=True):
    """A part of the text: kept as the user wrote it, or new, and then it stands for a place of the user's text."""

    start: int
    end: int
    origin: Span
    kept: bool

    def first(self, offset: int) -> int:
        """The user's character for one of this part; of new text, the first it stands for."""
        return self.origin.start + (offset - self.start) * self.kept

    def last(self, offset: int) -> int:
        """The end of the user's text for an end in this part."""
        return self.origin.start + offset - self.start if self.kept else self.origin.end


class Edited(Struct, frozen=True):
    """A text, and what each part of it was in the text as it was written."""

    sql: str
    written: str
    _pieces: tuple[_Piece, ...]

    @classmethod
    def of(cls, sql: str) -> Self:
        """A text as it was written."""
        return cls(sql, sql, (_Piece(0, len(sql), Span(0, len(sql)), kept=True),))

    def edited(self, edits: Sequence[Edit]) -> Edited:
        """After some edits of this text."""
        parts: list[str] = []
        edited_pieces: list[_Piece] = []
        at = 0
        for piece in pieces(Span(0, len(self.sql)), edits):
            if isinstance(piece, Span):
                for known in self._under(piece):
                    start, end = max(known.start, piece.start), min(known.end, piece.end)
                    origin = Span(known.first(start), known.last(end)) if known.kept else known.origin
                    edited_pieces.append(
                        _Piece(at + start - piece.start, at + end - piece.start, origin, known.kept)
                    )
                text = self.sql[piece.start : piece.end]
            else:
                text = piece[0]
                edited_pieces.append(_Piece(at, at + len(text), self.origin(piece[1]), kept=False))
            parts.append(text)
            at += len(text)
        return Edited("".join(parts), self.written, tuple(edited_pieces))

    def told(self, error: QueryError) -> QueryError:
        """An error about this text as one about the text as it was written."""
        if error.sql == self.sql:
            error.sql = self.written
            error.span = None if error.span is None else self.origin(error.span)
        return error

    def origin(self, span: Span) -> Span:
        """The user's text that a place of this one stands for."""
        under = self._under(Span(span.start, max(span.end, span.start + 1)))
        if not under:
            end = self._pieces[-1].origin.end
            return Span(end, end)
        start = under[0].first(max(span.start, under[0].start))
        end = under[-1].last(min(span.end, under[-1].end))
        return Span(min(start, end), max(start, end))

    def origin_text(self, span: Span) -> str:
        """The user's text that a place stands for, in one line."""
        origin = self.origin(span)
        return " ".join(self.written[origin.start : origin.end].split())

    def _under(self, span: Span) -> list[_Piece]:
        return [one for one in self._pieces if one.start < span.end and span.start < one.end]
