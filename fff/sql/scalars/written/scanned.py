"""Regular expressions, and choices by equality."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from fff.dataflow.plan.expressions import Compare, Literal
from fff.sql.scalars.coercion import BOOLEAN, INT, STRING
from fff.sql.scalars.functions import implicit
from fff.sql.scalars.patterns import extracted, for_python, group_count
from fff.sql.scalars.typed import LeftToSparkError, Typed, call


def extracted_all(args: Sequence[Typed]) -> Typed:
    """`regexp_extract_all(text, pattern, group)`. Raises LeftToSparkError."""
    text, word, written = _pattern("regexp_extract_all", args)
    group = args[2].expr.value if len(args) == 3 and isinstance(args[2].expr, Literal) else 1
    if len(args) > 3 or not isinstance(group, int) or not 0 <= group <= group_count(written):
        raise LeftToSparkError("regexp_extract_all(…) of this group")
    number = Typed(Literal(group, INT), INT)
    return call("regexp_extract_all", [text, word, number], pa.list_(STRING))


def place(args: Sequence[Typed]) -> Typed:
    """`regexp_instr(text, pattern)`. Raises LeftToSparkError."""
    text, word, _ = _pattern("regexp_instr", args)
    if len(args) > 2:
        raise LeftToSparkError("regexp_instr(…) of a group")
    return call("regexp_instr", [text, word], INT)


def part(args: Sequence[Typed]) -> Typed:
    """`regexp_substr(text, pattern)`: NULL where nothing is found. Raises LeftToSparkError."""
    if len(args) != 2:
        raise LeftToSparkError("regexp_substr(…)")
    text, pattern = (implicit("regexp_substr", one, STRING) for one in args)
    matched = extracted(text, pattern, Typed(Literal(0, INT), INT))
    empty = Typed(Compare("=", matched.expr, Literal("", STRING)), BOOLEAN)
    return call("case", [empty, Typed(Literal(None, STRING), STRING), matched], STRING)


def _pattern(name: str, args: Sequence[Typed]) -> tuple[Typed, Typed, str]:
    """The text, the pattern for Python, and as it is written. Raises LeftToSparkError."""
    if len(args) < 2:
        raise LeftToSparkError(f"{name}(…)")
    text, pattern = (implicit(name, one, STRING) for one in args[:2])
    if not isinstance(pattern.expr, Literal) or not isinstance(pattern.expr.value, str):
        raise LeftToSparkError(f"{name} with a computed pattern")
    written = pattern.expr.value
    return text, Typed(Literal(for_python(written, name), STRING), STRING), written
