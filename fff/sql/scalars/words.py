"""What the nodes of the syntax tree are to Spark: functions, operators, parts and units of time, conditions."""

from __future__ import annotations

import re

from fff.sql.syntax.spark_functions import arguments_of
from fff.sql.syntax.statement import Node, Statement, TokenType, exp
from fff.structs import lazy_pattern

#: How a node of the tree is written as a function of Spark: its name, and which parts are its arguments.
CALLS: dict[type[Node], tuple[str, tuple[str, ...]]] = {
    exp.Upper: ("upper", ("this",)),
    exp.Lower: ("lower", ("this",)),
    exp.Length: ("length", ("this",)),
    exp.Substring: ("substring", ("this", "start", "length")),
    exp.Left: ("left", ("this", "expression")),
    exp.Right: ("right", ("this", "expression")),
    exp.Replace: ("replace", ("this", "expression", "replacement")),
    exp.StrPosition: ("instr", ("this", "substr", "position")),
    exp.Repeat: ("repeat", ("this", "times")),
    exp.Reverse: ("reverse", ("this",)),
    exp.StartsWith: ("startswith", ("this", "expression")),
    exp.EndsWith: ("endswith", ("this", "expression")),
    exp.Contains: ("contains", ("this", "expression")),
    exp.SplitPart: ("split_part", ("this", "delimiter", "part_index")),
    exp.SubstringIndex: ("substring_index", ("this", "delimiter", "count")),
    exp.Translate: ("translate", ("this", "from_", "to")),
    exp.Ascii: ("ascii", ("this",)),
    exp.BitLength: ("bit_length", ("this",)),
    exp.Dayname: ("dayname", ("this",)),
    exp.Monthname: ("monthname", ("this",)),
    exp.UnixDate: ("unix_date", ("this",)),
    exp.UnixSeconds: ("unix_seconds", ("this",)),
    exp.UnixMillis: ("unix_millis", ("this",)),
    exp.UnixMicros: ("unix_micros", ("this",)),
    exp.DateFromUnixDate: ("date_from_unix_date", ("this",)),
    exp.Year: ("year", ("this",)),
    exp.Quarter: ("quarter", ("this",)),
    exp.Month: ("month", ("this",)),
    exp.Day: ("day", ("this",)),
    exp.DayOfMonth: ("day", ("this",)),
    exp.DayOfYear: ("dayofyear", ("this",)),
    exp.DayOfWeek: ("dayofweek", ("this",)),
    exp.WeekOfYear: ("weekofyear", ("this",)),
    exp.Hour: ("hour", ("this",)),
    exp.Minute: ("minute", ("this",)),
    exp.Second: ("second", ("this",)),
    exp.DateDiff: ("datediff", ("this", "expression")),
    exp.AddMonths: ("add_months", ("this", "expression")),
    exp.LastDay: ("last_day", ("this",)),
    exp.Round: ("round", ("this", "decimals")),
    exp.Floor: ("floor", ("this", "decimals")),
    exp.Ceil: ("ceil", ("this", "decimals")),
    exp.Sqrt: ("sqrt", ("this",)),
    exp.Sign: ("sign", ("this",)),
    exp.ArraySize: ("size", ("this",)),
    exp.ToBase64: ("base64", ("this",)),
    exp.BitwiseCount: ("bit_count", ("this",)),
    exp.MD5: ("md5", ("this",)),
    exp.SHA: ("sha1", ("this",)),
    exp.SHA2: ("sha2", ("this", "length")),
    exp.Levenshtein: ("levenshtein", ("this", "expression")),
    exp.Soundex: ("soundex", ("this",)),
    exp.Overlay: ("overlay", ("this", "expression", "from_", "for_")),
    exp.Hex: ("hex", ("this",)),
    exp.Unhex: ("unhex", ("this",)),
    exp.Degrees: ("degrees", ("this",)),
    exp.Radians: ("radians", ("this",)),
    exp.Rint: ("rint", ("this",)),
    exp.Factorial: ("factorial", ("this",)),
    exp.Nanvl: ("nanvl", ("this", "expression")),
    exp.Typeof: ("typeof", ("this",)),
    exp.Chr: ("chr", ("expressions",)),
    exp.Getbit: ("getbit", ("this", "expression")),
    exp.Pi: ("pi", ()),
    exp.Exp: ("exp", ("this",)),
    exp.Ln: ("ln", ("this",)),
    exp.Pow: ("pow", ("this", "expression")),
    exp.WidthBucket: ("width_bucket", ("this", "min_value", "max_value", "num_buckets")),
}
#: Functions that are casts, where they do not parse as casts.
CAST_NAMES = frozenset({"bigint", "smallint", "tinyint", "decimal", "float", "binary"})
#: The type TIME, which the parser takes for TIMESTAMP.
TIME = lazy_pattern(r"\bas\s+time\s*[()]|::\s*time\b|\btime\s*['\"]", re.IGNORECASE)
PARTS = {
    **dict.fromkeys(("YEAR", "Y", "YEARS", "YR", "YRS"), "year"),
    **dict.fromkeys(("DOW", "DAYOFWEEK"), "dayofweek"),
    **dict.fromkeys(("QUARTER", "QTR"), "quarter"),
    **dict.fromkeys(("MONTH", "MON", "MONS", "MONTHS"), "month"),
    **dict.fromkeys(("DAY", "D", "DAYS"), "day"),
    "DOY": "dayofyear",
    **dict.fromkeys(("WEEK", "W", "WEEKS"), "weekofyear"),
    **dict.fromkeys(("HOUR", "H", "HOURS", "HR", "HRS"), "hour"),
    **dict.fromkeys(("MINUTE", "M", "MIN", "MINS", "MINUTES"), "minute"),
}
#: Of which there are parts.
SECONDS = frozenset({"SECOND", "S", "SEC", "SECONDS", "SECS"})
#: Parts that no function is named after.
MORE_PARTS = {"YEAROFWEEK": "yearofweek", "DOW_ISO": "isoweekday", "DAYOFWEEK_ISO": "isoweekday"}
#: Units of `trunc` and `date_trunc`, and how many months or days they have.
UNITS = {
    "YEAR": "YEAR",
    "YYYY": "YEAR",
    "YY": "YEAR",
    "QUARTER": "QUARTER",
    "MONTH": "MONTH",
    "MON": "MONTH",
}
#: Which of the arguments a unit is.
UNIT_PLACES = {"trunc": 1, "date_trunc": 0}
UNITS |= {"MM": "MONTH", "WEEK": "WEEK"}
CLOCK_UNITS = frozenset({"DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"})
#: Microseconds.
DAY = 86_400_000_000
MONTHS, DAYS = {"MONTH": 1, "YEAR": 12}, {"DAY": 1, "WEEK": 7}
OPERATORS: dict[type[Node], str] = {
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.IntDiv: "div",
    exp.Mod: "remainder",
}
TRIED: dict[type[Node], str] = {
    exp.SafeAdd: "add",
    exp.SafeSubtract: "subtract",
    exp.SafeMultiply: "multiply",
    exp.SafeDivide: "divide",
}
BITWISE: dict[type[Node], str] = {
    exp.BitwiseAnd: "bit_and",
    exp.BitwiseOr: "bit_or",
    exp.BitwiseXor: "bit_xor",
}
SHIFTS: dict[type[Node], str] = {exp.BitwiseLeftShift: "shiftleft", exp.BitwiseRightShift: "shiftright"}
#: Nodes that are conditions: true, false or unknown.
CONDITIONS = (
    exp.And,
    exp.Or,
    exp.Not,
    exp.EQ,
    exp.NEQ,
    exp.LT,
    exp.LTE,
    exp.GT,
    exp.GTE,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.Is,
    exp.In,
    exp.Between,
)
#: Days of the week as `next_day` takes them.
DAY_WORDS = (
    *("MO MON MONDAY", "TU TUE TUESDAY", "WE WED WEDNESDAY", "TH THU THURSDAY", "FR FRI FRIDAY"),
    *("SA SAT SATURDAY", "SU SUN SUNDAY"),
)
#: What the parser writes where no pattern is given.
USUAL_FORMAT = "%Y-%mstrict-%dstrict %Hstrict:%Mstrict:%Sstrict"


def units_are_texts(statement: Statement) -> bool:
    """Whether all units of `trunc` and `date_trunc` are written out: the parser shows `w` and 'w' as 'WEEK', too."""
    for at, token in enumerate(statement.tokens):
        place = UNIT_PLACES.get(token.text.lower())
        spans = None if place is None else arguments_of(statement, at)
        if place is None or not spans:
            continue
        first, end = spans[min(place, len(spans) - 1)]
        unit = statement.tokens[first]
        known = unit.token_type is TokenType.STRING and unit.text.upper() in UNITS.keys() | CLOCK_UNITS
        if not known or end != first + 1:
            return False
    return True


def logarithm(statement: Statement, node: Node) -> str | None:
    """Which function `Log` is: the parser shows `log10(x)` and `log(10, x)` alike; None where that is not certain."""
    names = {token.text.lower() for token in statement.tokens} & {"log", "log2", "log10"}
    if "log" not in names and (short := f"log{node.this.sql()}") in names:
        return short
    return "log" if names == {"log"} else None


def describe(node: Node) -> str:
    """What an expression is, in a few words."""
    if isinstance(node, exp.Anonymous):
        return f"{node.name}(…)"
    for kind, word in (
        (exp.Like, "LIKE"),
        (exp.RegexpLike, "RLIKE"),
        (exp.Case, "CASE"),
        (exp.Cast, "a cast"),
    ):
        if isinstance(node, kind):
            return word
    if isinstance(node, exp.Func):
        return f"{node.sql_name().lower()}(…)"
    if isinstance(node, exp.Binary | exp.Unary):
        return f"{node.key}(…)" if isinstance(node, exp.Predicate) else "arithmetic"
    return "an expression"
