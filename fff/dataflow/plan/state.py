"""TupleState: what has happened to a tuple (S4 section 2.1.1). Routing decides by it and by nothing else."""

from __future__ import annotations

from typing import NamedTuple


def bits(mask: int) -> tuple[int, ...]:
    """The ordinals of the bits set in a mask, ascending."""
    return tuple(index for index in range(mask.bit_length()) if mask >> index & 1)


class TupleState(NamedTuple):
    """The aliases a tuple spans and the predicates it has passed, as bitmaps.

    The members of an equality class that lie inside the span are equal and not NULL: every concatenation sees to it, so
    no bit is needed for them.
    """

    span: int
    done: int = 0

    @property
    def weight(self) -> int:
        """How far a tuple has come; tuples of greater weight are routed first, so that they flow out (S1 section 4)."""
        return self.span.bit_count() * 64 + self.done.bit_count()
