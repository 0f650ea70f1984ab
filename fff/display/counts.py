"""Numbers with the word for what they count."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """How many there are of something: 1 row, 2,000 rows."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
