"""Regular expressions that Python reads as Java does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.kernels.values import Kernel, Partial, Value, as_array, failing
from fff.dataflow.kernels.written.marks import of_text
from fff.schema import ArrowType


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def _all(text: str, pattern: str, group: int) -> list[str]:
    """What a group holds of every match, in turn."""
    return [match[group] or "" for match in _compiled(pattern).finditer(text)]


def _place(text: str, pattern: str) -> int:
    """Where the first match begins; 0 where there is none."""
    match = _compiled(pattern).search(text)
    return 0 if match is None else match.start() + 1


def _no_group(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    """A group that there is not: every match fails."""
    text, pattern, most, group = as_array(args[0]), *(arg.as_py() for arg in args[1:])
    result = pc.if_else(pc.is_valid(text), pa.scalar("", kind), pa.scalar(None, kind))
    return failing(
        result,
        pc.fill_null(pc.match_substring_regex(text, pattern=pattern), fill_value=False),
        "[INVALID_PARAMETER_VALUE.REGEX_GROUP_INDEX] The value of parameter(s) `idx` in `regexp_extract` is invalid: "
        f"Expects group index between 0 and {most}, but got {group}.",
    )


SCANNED: dict[str, Kernel] = {
    "regexp_extract_all": of_text(_all),
    "regexp_instr": of_text(_place),
    "no_group": _no_group,
}
