"""`format_string`."""

from __future__ import annotations

from collections.abc import Sequence

from fff.dataflow.kernels.written.printed import places
from fff.dataflow.plan.expressions import Literal
from fff.sql.scalars.coercion import BOOLEAN, STRING, VOID, cast, is_integer, type_name
from fff.sql.scalars.typed import LeftToSparkError, Typed, call


def format_string(args: Sequence[Typed]) -> Typed:
    """`format_string` and `printf`, of a constant pattern and plain values. Raises LeftToSparkError."""
    pattern = args[0].expr.value if args and isinstance(args[0].expr, Literal) else None
    parts = places(pattern) if isinstance(pattern, str) else None
    if parts is None:
        raise LeftToSparkError("format_string(…) with this pattern")
    values = list(args[1:])
    for one in values:
        if not (one.type in (STRING, BOOLEAN, VOID) or is_integer(one.type)) or one.may_fail:
            raise LeftToSparkError(f"format_string({type_name(one.type)})")
    for part in parts:
        if isinstance(part, str):
            continue
        place, _, _, letter = part
        if (
            place is None
            or place >= len(values)
            or (letter == "d" and not (is_integer(values[place].type) or values[place].type == VOID))
        ):
            raise LeftToSparkError("format_string(…) with this pattern")
    return call(
        "format_string",
        [args[0], *(cast(one, STRING) if one.type == VOID else one for one in values)],
        STRING,
    )
