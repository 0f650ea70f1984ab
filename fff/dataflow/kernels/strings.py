"""Texts as Spark computes with them: by code point, and by the rules of Unicode for upper and lower case.

Arguments that say how (a length, a place, what is searched for) are constants: the planner sees to it.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Callable, Sequence
from functools import reduce
from urllib.parse import quote_plus

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.kernels import letters
from fff.dataflow.kernels.values import Kernel, Partial, Value, as_array, column, failing, over_unique
from fff.schema import ArrowType
from fff.structs import lazy_pattern

_BLANK = " "
_SHA2 = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}
#: The sounds of English letters.
_SOUNDS = "01230127022455012623017202"
_A, _Z = b"AZ"
_LONG = 2**64 - 1
_NO_INDEX = (
    "[INVALID_INDEX_OF_ZERO] The index 0 is invalid. An index shall be either < 0 or > 0 "
    "(the first element has index 1)."
)
#: So long are the lines of Base64 in mail.
_LINE = lazy_pattern(r".{1,76}")


def _known(args: Sequence[Value]) -> list[object] | None:
    """The constants behind the first argument; None where one is NULL."""
    constants = [arg.as_py() for arg in args[1:]]
    return None if None in constants else constants


def _each(change: Callable[..., object]) -> Kernel:
    """A kernel that asks Python about each different text."""

    def kernel(args: Sequence[Value], kind: ArrowType) -> Value:
        text, known = as_array(args[0]), _known(args)
        if known is None:
            return pa.nulls(len(text), kind)
        return over_unique(
            text,
            lambda one: pa.array(
                [None if each is None else change(each, *known) for each in one.to_pylist()], kind
            ),
        )

    return kernel


def _with_constants(compute: Callable[..., Value]) -> Kernel:
    """A kernel of Arrow, which takes what is behind the first argument as options."""

    def kernel(args: Sequence[Value], kind: ArrowType) -> Value:
        known = _known(args)
        if known is None:
            return pa.nulls(len(args[0]), kind)
        return compute(args[0], *known)

    return kernel


def _is_ascii(text: pa.Array) -> bool:
    """Whether no text has a byte beyond ASCII, what NULLs hide among them."""
    _, offsets, data = text.buffers()
    if data is None or not len(text):
        return True
    places = np.frombuffer(offsets, np.int32)
    encoded = np.frombuffer(data, np.int8)[places[text.offset] : places[text.offset + len(text)]]
    return bool(encoded.min(initial=0) >= 0)


def _cased(plain: Callable[[pa.Array], pa.Array], change: Callable[[str], str]) -> Kernel:
    other = _each(change)

    def kernel(args: Sequence[Value], kind: ArrowType) -> Value:
        if _is_ascii(args[0]):
            return plain(args[0])
        return other(args, kind)

    return kernel


def _substring(text: pa.Array, start: int, length: int = 2**31 - 1) -> Value:
    if length <= 0:
        return pc.utf8_slice_codeunits(text, 0, 0)
    if start >= 0:
        begin = max(start - 1, 0)
        return pc.utf8_slice_codeunits(text, begin, begin + length)
    # An end before the first character leaves nothing.
    return pc.utf8_slice_codeunits(text, start, start + length if start + length < 0 else None)


def _left(text: pa.Array, length: int) -> Value:
    return _substring(text, 1, length)


def _right(text: pa.Array, length: int) -> Value:
    return _substring(text, -length) if length > 0 else pc.utf8_slice_codeunits(text, 0, 0)


def _concat(args: Sequence[Value], kind: ArrowType) -> Value:
    return pc.binary_join_element_wise(*args, pa.scalar("", kind))


def _concat_ws(args: Sequence[Value], _: ArrowType) -> Value:
    separator, first, *items = args
    absent = reduce(pc.and_, map(pc.is_null, (first, *items)))  # such rows Arrow would leave out
    items = [pc.if_else(absent, pa.scalar("", first.type), first), *items]
    joined = pc.binary_join_element_wise(*items, separator, null_handling="skip")
    if isinstance(separator, pa.Scalar):
        return joined if separator.is_valid else pa.nulls(len(joined), separator.type)
    return pc.if_else(pc.is_valid(separator), joined, pa.scalar(None, separator.type))


def _trimmed(side: Callable[..., Value]) -> Kernel:
    def compute(text: pa.Array, characters: str = _BLANK) -> Value:
        return side(text, characters=characters) if characters else text

    return _with_constants(compute)


def _replace(text: pa.Array, search: str, by: str = "") -> Value:
    return pc.replace_substring(text, pattern=search, replacement=by) if search else text


def _instr(text: str, search: str, start: int = 1) -> int:
    if start < 1 or not search:  # nothing stands at the first place, wherever one begins
        return int(start >= 1)
    return text.find(search, start - 1) + 1


def _padded(text: str, length: int, by: str, *, left: bool) -> str:
    missing = length - len(text)
    if missing <= 0 or not by:
        return text[: max(length, 0)]
    more = (by * (missing // len(by) + 1))[:missing]
    return more + text if left else text + more


def _repeat(text: pa.Array, times: int) -> Value:
    return pc.binary_repeat(text, max(times, 0))


def _split_part(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    if args[2].as_py() == 0:
        rows = pc.and_(pc.is_valid(args[0]), pa.scalar(args[1].is_valid))
        return failing(
            pa.nulls(len(args[0]), kind),
            rows,
            _NO_INDEX,
        )
    return _each(_part)(args, kind)


def _parts_by_row(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    """`split_part` whose arguments may all differ from row to row."""
    length = max((len(arg) for arg in args if isinstance(arg, pa.Array)), default=1)
    columns = [column(arg, length) for arg in args]
    zero = reduce(pc.and_, [*map(pc.is_valid, columns[:2]), pc.equal(columns[2], pa.scalar(0, pa.int32()))])
    safe = pc.if_else(pc.fill_null(zero, fill_value=False), pa.scalar(1, pa.int32()), columns[2])
    return failing(
        _by_row(_part)([*columns[:2], safe], kind), pc.fill_null(zero, fill_value=False), _NO_INDEX
    )


def _part(text: str, by: str, number: int) -> str:
    parts = text.split(by) if by else [text]
    place = number - 1 if number > 0 else len(parts) + number
    return parts[place] if 0 <= place < len(parts) else ""


def _substring_index(text: str, by: str, count: int) -> str:
    """As Spark looks for it: the next one may begin within the one before."""
    if not by or count == 0:
        return ""
    at = -1 if count > 0 else len(text) - len(by) + 1
    for _ in range(abs(count)):
        at = text.find(by, at + 1) if count > 0 else text.rfind(by, 0, max(at - 1 + len(by), 0))
        if at < 0:
            return text
    return text[:at] if count > 0 else text[at + len(by) :]


def _translate(text: str, letters: str, to: str) -> str:
    table: dict[int, str] = {}
    for place, character in enumerate(letters):
        table.setdefault(ord(character), to[place : place + 1])
    return text.translate(table)


def _extracted(text: pa.Array, pattern: str, group: str) -> Value:
    """What a named group holds of the first match; an empty text where there is none."""
    matched = pc.struct_field(pc.extract_regex(text, pattern=pattern), group)
    return pc.if_else(pc.is_valid(text), pc.coalesce(matched, pa.scalar("")), pa.scalar(None, pa.string()))


def _split(text: pa.Array, pattern: str, most: int) -> Value:
    return pc.split_pattern_regex(text, pattern=pattern, max_splits=most - 1 if most > 0 else None)


def _bytes(change: Callable[..., object]) -> Kernel:
    """A kernel that asks Python about the bytes of each different text; a constant may stand behind it."""
    each = _each(change)

    def kernel(args: Sequence[Value], kind: ArrowType) -> Value:
        text = as_array(args[0])
        return each([text.cast(pa.binary()) if pa.types.is_string(text.type) else text, *args[1:]], kind)

    return kernel


def _sha2(data: bytes, bits: int) -> str | None:
    name = _SHA2.get(bits)
    return None if name is None else hashlib.new(name, data, usedforsecurity=False).hexdigest()


def _unhex(text: bytes) -> bytes | None:
    try:
        return (
            bytes.fromhex((b"0" * (len(text) % 2) + text).decode("ascii"))
            if text.isalnum() or not text
            else None
        )
    except ValueError:
        return None


def _soundex(text: bytes) -> str:
    first = text[:1].upper()
    if not first.isalpha():
        return text.decode()
    code, last = first.decode(), _SOUNDS[first[0] - _A]
    for letter in text[1:].upper():
        sound = _SOUNDS[letter - _A] if _A <= letter <= _Z else "0"
        if sound == "7":  # H and W are not there
            continue
        if sound not in ("0", last):
            code += sound
        last = sound
    return f"{code:0<4}"[:4]


def _overlaid(text: str, by: str, place: int, length: int = -1) -> str:
    return _cut(text, 1, place - 1) + by + _cut(text, place + (length if length >= 0 else len(by)), 2**31 - 1)


def _cut(text: str, place: int, length: int) -> str:
    start = place - 1 if place > 0 else len(text) + place if place else 0
    return text[max(start, 0) : max(min(start + length, 2**31 - 1), 0)]


def _in_set(text: str, listed: str) -> int:
    parts = listed.split(",")
    return parts.index(text) + 1 if "," not in text and text in parts else 0


def _distance(one: str, other: str) -> int:
    """How many letters have to be put in, taken out or changed."""
    above = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        row = [number]
        for place, against in enumerate(other):
            row.append(min(above[place] + (letter != against), above[place + 1] + 1, row[place] + 1))
        above = row
    return above[-1]


def _character(number: int) -> str:
    return chr(number & 0xFF) if number >= 0 else ""


def _code_point(text: str) -> int:
    return ord(text[0]) if text else 0


def _by_row(change: Callable[..., object]) -> Kernel:
    """A kernel whose arguments may all differ from row to row."""

    def kernel(args: Sequence[Value], kind: ArrowType) -> Value:
        length = max((len(arg) for arg in args if isinstance(arg, pa.Array)), default=1)
        rows = zip(*(column(arg, length).to_pylist() for arg in args), strict=True)
        return pa.array([None if None in row else change(*row) for row in rows], kind)

    return kernel


STRINGS: dict[str, Kernel] = {
    "length": _with_constants(pc.utf8_length),
    "octet_length": _with_constants(pc.binary_length),
    "upper": _cased(pc.ascii_upper, letters.upper),
    "lower": _cased(pc.ascii_lower, letters.lower),
    "initcap": _each(letters.initcap),
    "substring": _with_constants(_substring),
    "left": _with_constants(_left),
    "right": _with_constants(_right),
    "concat": _concat,
    "concat_ws": _concat_ws,
    "trim": _trimmed(pc.utf8_trim),
    "ltrim": _trimmed(pc.utf8_ltrim),
    "rtrim": _trimmed(pc.utf8_rtrim),
    "replace": _with_constants(_replace),
    "instr": _each(_instr),
    "lpad": _each(lambda text, length, by=_BLANK: _padded(text, length, by, left=True)),
    "rpad": _each(lambda text, length, by=_BLANK: _padded(text, length, by, left=False)),
    "repeat": _with_constants(_repeat),
    "reverse": _with_constants(pc.utf8_reverse),
    "startswith": _with_constants(lambda text, search: pc.starts_with(text, pattern=search)),
    "endswith": _with_constants(lambda text, search: pc.ends_with(text, pattern=search)),
    "contains": _with_constants(lambda text, search: pc.match_substring(text, pattern=search)),
    "split_part": _split_part,
    "substring_index": _each(_substring_index),
    "translate": _each(_translate),
    "extracted": _with_constants(_extracted),
    "substituted": _with_constants(
        lambda text, pattern, by: pc.replace_substring_regex(text, pattern=pattern, replacement=by)
    ),
    "split": _with_constants(_split),
    "ascii": _each(_code_point),
    "base64": _bytes(lambda data: "\r\n".join(_LINE.findall(base64.b64encode(data).decode()))),
    "hex": _bytes(lambda data: data.hex().upper()),
    "unhex": _bytes(_unhex),
    "hex_of": _each(lambda number: f"{number & _LONG:X}"),
    "bin": _each(lambda number: f"{number & _LONG:b}"),
    "chr": _each(_character),
    "crc32": _bytes(zlib.crc32),
    "md5": _bytes(lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest()),
    "sha1": _bytes(lambda data: hashlib.sha1(data, usedforsecurity=False).hexdigest()),
    "sha2": _bytes(_sha2),
    "soundex": _bytes(_soundex),
    "overlay": _each(_overlaid),
    "find_in_set": _each(_in_set),
    "url_encode": _each(lambda text: quote_plus(text, safe="*").replace("~", "%7E")),
    "counted": _with_constants(lambda text, pattern: pc.count_substring_regex(text, pattern=pattern)),
    "bit_length": _with_constants(lambda text: pc.multiply(pc.binary_length(text), pa.scalar(8, pa.int32()))),
    "matches": _with_constants(lambda text, pattern: pc.match_substring_regex(text, pattern=pattern)),
}
_COMPUTED: dict[str, Callable[..., object]] = {
    "substring": lambda text, place, length=2**31 - 1: _cut(text, place, length),
    "left": lambda text, length: _cut(text, 1, length),
    "right": lambda text, length: _cut(text, -length, 2**31 - 1) if length > 0 else "",
    "replace": lambda text, search, by="": text.replace(search, by) if search else text,
    "instr": _instr,
    "startswith": str.startswith,
    "endswith": str.endswith,
    "contains": lambda text, search: search in text,
    "substring_index": _substring_index,
    "translate": _translate,
    "overlay": _overlaid,
    "find_in_set": _in_set,
    "levenshtein": _distance,
    "trim": lambda text, characters: text.strip(characters) if characters else text,
    "ltrim": lambda text, characters: text.lstrip(characters) if characters else text,
    "rtrim": lambda text, characters: text.rstrip(characters) if characters else text,
}
STRINGS |= {f"{name}_by_row": _by_row(change) for name, change in _COMPUTED.items()}
STRINGS["split_part_by_row"] = _parts_by_row
