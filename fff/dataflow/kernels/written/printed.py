"""`format_string`, as Java's formats say, for texts, truths and whole numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa

from fff.dataflow.kernels.values import Kernel, Value, column
from fff.schema import ArrowType
from fff.structs import lazy_pattern

_MARK = lazy_pattern(r"%(?:(\d+)\$)?([-,0]?)(\d+)?([sd%])", re.ASCII)
#: Which of the arguments, None for those marks that take none, the flag, the width, and what is printed.
Place = tuple[int | None, str, int, str]


def places(pattern: str) -> list[str | Place] | None:
    """What a pattern is made of: plain text and places for arguments; None where it is of a form not known here."""
    pieces: list[str | Place] = []
    end = count = 0
    for match in _MARK.finditer(pattern):
        if "%" in pattern[end : match.start()]:
            return None
        pieces.append(pattern[end : match.start()])
        end = match.end()
        number, flag, width, letter = match.groups()
        if (
            (letter == "%" and (number or flag or width))
            or (flag in {"-", "0"} and not width)
            or (flag and letter == "s" and flag != "-")
        ):
            return None
        if letter == "%":
            pieces.append("%")
            continue
        if number is None:
            count += 1
        place = count if number is None else int(number)
        if place < 1 or (width and (width[0] == "0" or len(width) > 3)):
            return None
        pieces.append((place - 1, flag, int(width or 0), letter))
    if "%" in pattern[end:]:
        return None
    return [*pieces, pattern[end:]]


def _printed(value: object, flag: str, width: int) -> str:
    if value is None:
        shown = "null"
    elif isinstance(value, bool):
        shown = "true" if value else "false"
    else:
        shown = f"{value:,}" if flag == "," and isinstance(value, int) else str(value)
    missing = width - len(shown.encode("utf-16-le")) // 2
    if missing <= 0:
        return shown
    if flag == "-":
        return shown + " " * missing
    if flag == "0" and value is not None:
        sign = "-" if shown[0] == "-" else ""
        return sign + "0" * missing + shown.removeprefix(sign)
    return " " * missing + shown


def _format_string(args: Sequence[Value], kind: ArrowType) -> Value:
    length = max((len(arg) for arg in args if isinstance(arg, pa.Array)), default=1)
    pattern = column(args[0], 1)[0].as_py()
    if pattern is None:
        return pa.nulls(length, kind)
    parts = places(pattern) or []
    rows = zip(*(column(arg, length).to_pylist() for arg in args), strict=True)
    return pa.array(
        [
            "".join(
                part if isinstance(part, str) else _printed(row[1 + (part[0] or 0)], part[1], part[2])
                for part in parts
            )
            for row in rows
        ],
        kind,
    )


PRINTED: dict[str, Kernel] = {"format_string": _format_string}
