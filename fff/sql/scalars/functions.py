"""The table of functions that the engine computes as Spark does, with the types for which that is proven.

A function without a row here, or called with other types, is left to Spark.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from fff.dataflow.plan.expressions import Expr, Literal
from fff.schema import MOST_DIGITS, ArrowType, comparison_kind
from fff.sql.scalars.coercion import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    VOID,
    bounded,
    cast,
    common,
    is_decimal,
    is_integer,
    is_moment,
    is_number,
    type_name,
)
from fff.sql.scalars.collections import functions as collections
from fff.sql.scalars.java import writes_shortest
from fff.sql.scalars.quantities import intervals, numbers
from fff.sql.scalars.typed import LeftToSparkError, Typed, call
from fff.structs import Struct, lazy_pattern

#: Texts made by a function are no longer than this many times what they are made of.
_MOST_REPEATED = 1000
#: Functions that repeat something, and which argument says how often.
_REPEATING = {"repeat": 1, "lpad": 1, "rpad": 1, "space": 0}
#: Paths into JSON without blanks, which Spark skips here and there, names for all members, and places beyond all arrays.
_PLAIN_PATH = lazy_pattern(r"(?!.*[0-9]{10})(?:[^\s*]|\[\*\])*")
#: Doubles are rounded to so many digits.
_MOST_PLACES = 15


class Function(Struct, frozen=True):
    """A function of fixed types: what it takes, of which the last `optional` may be missing, and what it gives.

    Arguments from the one numbered `constant` on are constants.
    """

    takes: tuple[ArrowType, ...]
    gives: ArrowType
    optional: int = 0
    constant: int = 99
    fails: bool = False


def _text(*more: ArrowType, gives: ArrowType = STRING, optional: int = 0, fails: bool = False) -> Function:
    """A function of a text, and of constants that say how."""
    return Function((STRING, *more), gives, optional, 1, fails)


FUNCTIONS: dict[str, Function] = {
    "upper": _text(),
    "lower": _text(),
    "initcap": _text(),
    "length": _text(gives=INT),
    "octet_length": _text(gives=INT),
    "substring": _text(INT, INT, optional=1),
    "left": _text(INT),
    "right": _text(INT),
    "trim": _text(STRING, optional=1),
    "ltrim": _text(STRING, optional=1),
    "rtrim": _text(STRING, optional=1),
    "replace": _text(STRING, STRING, optional=1),
    "instr": _text(STRING, INT, gives=INT, optional=1),
    "lpad": _text(INT, STRING, optional=1),
    "rpad": _text(INT, STRING, optional=1),
    "repeat": _text(INT),
    "reverse": _text(),
    "startswith": _text(STRING, gives=BOOLEAN),
    "endswith": _text(STRING, gives=BOOLEAN),
    "contains": _text(STRING, gives=BOOLEAN),
    "split_part": _text(STRING, INT, fails=True),
    "substring_index": _text(STRING, INT),
    "translate": _text(STRING, STRING),
    "ascii": _text(gives=INT),
    "base64": Function((BINARY,), STRING),
    "bin": Function((LONG,), STRING),
    "bit_count": Function((LONG,), INT),
    "chr": Function((LONG,), STRING),
    "crc32": Function((BINARY,), LONG),
    "md5": Function((BINARY,), STRING),
    "sha1": Function((BINARY,), STRING),
    "sha2": Function((BINARY, INT), STRING, constant=1),
    "soundex": _text(),
    "overlay": _text(STRING, INT, INT, optional=1),
    "find_in_set": _text(STRING, gives=INT),
    "unhex": _text(gives=BINARY),
    "conv": _text(INT, INT, fails=True),
    "url_encode": _text(),
    "url_decode": _text(fails=True),
    "try_url_decode": _text(),
    "luhn_check": _text(gives=BOOLEAN),
    "quote": _text(),
    "json_array_length": _text(gives=INT),
    "json_object_keys": _text(gives=pa.list_(STRING)),
    "get_json_object": _text(STRING),
    "space": Function((INT,), STRING),
    "degrees": Function((DOUBLE,), DOUBLE),
    "radians": Function((DOUBLE,), DOUBLE),
    "rint": Function((DOUBLE,), DOUBLE),
    "factorial": Function((INT,), LONG),
    "make_date": Function((INT, INT, INT), DATE, fails=True),
    "timestamp_seconds": Function((LONG,), TIMESTAMP, fails=True),
    "timestamp_millis": Function((LONG,), TIMESTAMP, fails=True),
    "timestamp_micros": Function((LONG,), TIMESTAMP),
    "bit_length": _text(gives=INT),
    "year": Function((DATE,), INT),
    "dayname": Function((DATE,), STRING),
    "monthname": Function((DATE,), STRING),
    "next_day": Function((DATE, INT), DATE, constant=1),
    "unix_date": Function((DATE,), INT),
    "date_from_unix_date": Function((INT,), DATE),
    "unix_seconds": Function((TIMESTAMP,), LONG),
    "unix_millis": Function((TIMESTAMP,), LONG),
    "unix_micros": Function((TIMESTAMP,), LONG),
    "quarter": Function((DATE,), INT),
    "month": Function((DATE,), INT),
    "day": Function((DATE,), INT),
    "dayofyear": Function((DATE,), INT),
    "dayofweek": Function((DATE,), INT),
    "weekday": Function((DATE,), INT),
    "weekofyear": Function((DATE,), INT),
    "hour": Function((TIMESTAMP,), INT),
    "minute": Function((TIMESTAMP,), INT),
    "second": Function((TIMESTAMP,), INT),
    "date_add": Function((DATE, INT), DATE),
    "date_sub": Function((DATE, INT), DATE),
    "datediff": Function((DATE, DATE), INT),
    "add_months": Function((DATE, INT), DATE, fails=True),
    "last_day": Function((DATE,), DATE),
    "trunc": Function((DATE, STRING), DATE, constant=1),
    "date_trunc": Function((TIMESTAMP, STRING), TIMESTAMP, constant=1, fails=True),
}
#: Functions for which Spark casts nothing.
_UNCAST = frozenset(
    {
        *("soundex", "unix_date", "unix_seconds", "unix_millis", "unix_micros"),
        *("json_array_length", "json_object_keys", "get_json_object"),
    }
)
#: Functions of texts that go through Python row by row where what says how is computed, too.
_BY_ROW = frozenset(
    {
        *("substring", "left", "right", "replace", "instr", "startswith", "endswith", "contains"),
        *("substring_index", "translate", "overlay", "find_in_set", "split_part", "trim", "ltrim", "rtrim"),
    }
)
#: Functions whose numbers Spark does not read from texts, or otherwise.
_UNREAD = frozenset(
    {"date_add", "date_sub", "bit_count", "timestamp_seconds", "timestamp_millis", "timestamp_micros"}
)
#: Functions that look at bytes as at texts.
_OF_BYTES = frozenset({"startswith", "endswith", "contains"})
#: Other names of functions.
SYNONYMS = {
    "char": "chr",
    "sha": "sha1",
    "char_length": "length",
    "character_length": "length",
    "len": "length",
    "btrim": "trim",
    "dayofmonth": "day",
    "date_diff": "datediff",
    "dateadd": "date_add",
    "lcase": "lower",
    "power": "pow",
    "ucase": "upper",
    "ceiling": "ceil",
    "signum": "sign",
    "array_size": "size",
    "cardinality": "size",
    "substr": "substring",
}


def applied(name: str, args: Sequence[Typed]) -> Typed:
    """A function of its arguments.

    Raises:
        LeftToSparkError: it is not in the table, or not for these types.
    """
    if name == "array_size" and args and not pa.types.is_list(args[0].type):
        raise LeftToSparkError(f"array_size({type_name(args[0].type)})")
    name = SYNONYMS.get(name, name)
    if name in {"greatest", "least"} and len(args) > 1:
        items, kind = common(args)
        if comparison_kind(kind) is None:
            raise LeftToSparkError(f"{name}({type_name(kind)})")
        return call(name, items, kind)
    if name in numbers.NAMES:
        return numbers.applied(name, args)
    if name == "sign" and len(args) == 1 and intervals.is_interval(args[0].type):
        return intervals.sign(args[0])
    if name in {"floor", "ceil", "round", "bround", "sqrt", "sign"}:
        return _rounded(name, args)
    if name == "levenshtein" and len(args) == 2:
        return call("levenshtein_by_row", [implicit(name, arg, STRING) for arg in args], INT)
    if name == "typeof" and len(args) == 1:
        return Typed(Literal(_plain_name(args[0].type), STRING), STRING)
    if name == "hex" and len(args) == 1 and is_integer(args[0].type):
        return call("hex_of", [cast(args[0], LONG)], STRING)
    if name == "hex" and len(args) == 1 and args[0].type in (STRING, BINARY):
        return call("hex", args, STRING)
    if name == "nanvl" and [arg.type for arg in args] == [DOUBLE, DOUBLE]:
        return call("case", [call("isnan", args[:1], BOOLEAN), args[1], args[0]], DOUBLE)
    if name == "bit_count" and len(args) == 1 and args[0].type == BOOLEAN:
        return cast(args[0], INT)
    if name == "size" and len(args) == 1:
        if not (pa.types.is_list(args[0].type) or pa.types.is_map(args[0].type)):
            raise LeftToSparkError(f"size({type_name(args[0].type)})")
        return call(name, args, INT)
    if name in _OF_BYTES and [arg.type for arg in args] == [BINARY, BINARY]:
        if not isinstance(args[1].expr, Literal):
            raise LeftToSparkError(f"{name}(binary) with computed arguments")
        return call(name, args, BOOLEAN)
    if name in {"concat", "reverse"} and args and pa.types.is_list(args[0].type):
        return collections.concatenated(args) if name == "concat" else collections.applied(name, args)
    if name in {"concat", "concat_ws"} and len(args) > (name == "concat_ws"):
        return call(name, [implicit(name, arg, STRING) for arg in args], STRING)
    function = FUNCTIONS.get(name)
    if function is None:
        raise LeftToSparkError(f"{name}(…)")
    most = len(function.takes)
    if not most - function.optional <= len(args) <= most:
        raise LeftToSparkError(f"{name}(…) with {len(args)} arguments")
    if name in _UNCAST and args[0].type not in (function.takes[0], VOID):
        raise LeftToSparkError(f"{name}({type_name(args[0].type)})")
    converted = [implicit(name, arg, kind) for arg, kind in zip(args, function.takes, strict=False)]
    if not all(isinstance(arg.expr, Literal) for arg in converted[function.constant :]):
        if name not in _BY_ROW or (name == "instr" and (len(converted) > 2 or converted[1].may_fail)):
            raise LeftToSparkError(f"{name}(…) with computed arguments")
        name += "_by_row"
    if name == "get_json_object" and not _is_plain_path(converted[1].expr):
        raise LeftToSparkError("get_json_object(…) with such a path")
    if name in _REPEATING and _may_be_long(args[_REPEATING[name]], converted[_REPEATING[name]].expr):
        raise LeftToSparkError(f"{name}(…) of long texts")
    return call(name, converted, function.gives, fails=function.fails)


def _may_be_long(given: Typed, count: Expr) -> bool:
    """Whether a text that is repeated so often may be longer than those that the engine makes."""
    if isinstance(count, Literal):
        return isinstance(count.value, int) and count.value > _MOST_REPEATED
    return given.type in (pa.int16(), INT)


def _is_plain_path(path: Expr) -> bool:
    """Whether it is sure where a path into JSON leads, and that Spark writes numbers as the engine does."""
    text = path.value if isinstance(path, Literal) else None
    return writes_shortest() and (text is None or _PLAIN_PATH.fullmatch(str(text)) is not None)


def _plain_name(kind: ArrowType) -> str:
    if collections.has_part(kind, intervals.is_interval):  # whose units are not part of the type here
        raise LeftToSparkError("typeof(interval)")
    return type_name(kind)


def _rounded(name: str, args: Sequence[Typed]) -> Typed:
    """Functions of one number, and the digits that are left of it."""
    number, digits = args[0], args[1].expr if len(args) == 2 else Literal(0, INT)
    kind = number.type
    if not is_number(kind) or kind == FLOAT or not isinstance(digits, Literal) or len(args) > 2:
        raise LeftToSparkError(f"{name}({type_name(kind)})")
    if name in {"sqrt", "sign"}:
        return call(name, [cast(number, DOUBLE)], DOUBLE)
    whole = kind.precision - kind.scale + 1 if is_decimal(kind) else 0
    if name in {"floor", "ceil"}:
        if len(args) > 1:
            if args[1].type != INT:  # which Spark refuses
                raise LeftToSparkError(f"{name}(…) to these digits")
            return numbers.whole(name, number, digits.value)
        if whole > MOST_DIGITS:
            raise LeftToSparkError(f"{name}(…)")
        if is_integer(kind):
            return cast(number, LONG)
        if is_decimal(kind):
            return number if not kind.scale else call(name, [number], bounded(whole, 0))
        return call(name, [number], LONG, fails=True)
    count = digits.value
    if isinstance(count, int) and count < 0:
        return numbers.to_tens(name, number, count)
    if not isinstance(count, int) or (count > _MOST_PLACES and kind == DOUBLE):
        raise LeftToSparkError(f"{name}(…) to these digits")
    if is_integer(kind):
        if count > MOST_DIGITS:  # so many that Spark multiplies them out, and fails
            raise LeftToSparkError(f"{name}(…) to these digits")
        return number
    if is_decimal(kind):
        count = min(count, kind.scale)
        if whole + count > MOST_DIGITS:
            raise LeftToSparkError(f"{name}({type_name(kind)})")
        kind = bounded(whole + count, count)
    return call(name, [number, Typed(Literal(count, INT), INT)], kind)


def implicit(name: str, arg: Typed, kind: ArrowType) -> Typed:
    """An argument as the type that a function takes, where Spark casts it there by itself."""
    source = arg.type
    to_text = kind == STRING  # of every type that it can be cast from
    widens = is_integer(source) and is_integer(kind) and source.bit_width < kind.bit_width
    to_float = kind == DOUBLE and source in (FLOAT, pa.int8(), pa.int16(), INT, LONG)
    as_bytes = kind == BINARY and source == STRING
    is_written = source == STRING and isinstance(arg.expr, Literal) and kind in (INT, LONG, DOUBLE)
    if is_written and name not in _UNREAD:
        return cast(arg, kind)
    to_day = kind == DATE and (source == STRING or is_moment(source))
    to_moment = kind == TIMESTAMP and (source == DATE or is_moment(source))
    if source in (kind, VOID) or to_text or widens or to_day or to_moment or to_float or as_bytes:
        return cast(arg, kind)
    raise LeftToSparkError(f"{name}({type_name(source)})")
