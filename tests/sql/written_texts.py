"""Random calls of functions of what is written in texts: patterns of moments, character sets, JSON, formats, masks."""

from __future__ import annotations

import random
from collections.abc import Callable

# fmt: off
_TEXTS = ("s", "s2", "v", "'aé5'", "concat(s, s2)", "upper(s)", "'İstanbul ς'", "''", "hex(s)")
_MOMENTS = ("ts", "ts2", "tn", "dt", "dt2", "TIMESTAMP '2020-03-08 07:30:05.123456Z'", "DATE '2020-02-29'")
_LETTERS = (
    "y", "yy", "yyy", "yyyy", "yyyy", "yyyyy", "M", "MM", "MMM", "MMMM", "L", "LL", "d", "dd", "D", "DD",
    "DDD",
    "H", "HH", "h", "hh", "k", "kk", "K", "KK", "m", "mm", "s", "ss", "S", "SS", "SSS", "SSSSSS",
    "SSSSSSSSS",
    "a", "E", "EEE", "EEEE", "Q", "QQ", "QQQ", "q", "F", "z", "zzzz", "X", "XXX", "x", "xxx", "Z", "ZZZZZ",
    "O", "VV",
)
_READ = (
    "yyyy-MM-dd", "yyyyMMdd", "yyyy-MM-dd HH:mm:ss", "dd/MM/yyyy", "d.M.yyyy", "yyyy", "yy-MM-dd",
    "MMM d yyyy",
    "MMMM yyyy", "HH:mm", "hh:mm a", "h a", "yyyy-DDD", "yyyy-MM-dd''T''HH:mm:ss.SSS",
    "yyyy-MM-dd HH:mm:ssXXX",
    *("HHmmss", "HHmmssSSS", "yyyy/M/d H:m:s", "dd MMM yy", "ss.SS", "y", "D", "MM-dd-DDD", "yyyyy", "M[-d]"),
    *("yyyy[-MM[-dd]]", "yyyy-MM-dd[ HH:mm[:ss[.SSSSSS]]]", "yyyyMMddHHmmss", "S", "yyy-M"),
)
_UNITS = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
_PARTS = (
    "Y", "YEARS", "YR", "YRS", "QTR", "MON", "MONS", "MONTHS", "W", "WEEKS", "D", "DAYS", "H", "HOURS",
    "HR", "HRS",
    *("M", "MIN", "MINS", "MINUTES", "S", "SEC", "SECONDS", "SECS", "SECOND", "DOW", "YEAROFWEEK"),
)
_CHARSETS = ("utf-8", "UTF-16", "utf-16le", "utf-16be", "us-ascii", "ISO-8859-1", "utf-32")
_NUMBERS = ("i", "i8", "l", "-1", "0", "1", "2", "12", "400", "NULL")

# fmt: on


def _moment_text(rng: random.Random, pattern: str) -> str:
    """A text that fits the pattern, or nearly."""
    number = lambda least, most, width: f"{rng.randint(least, most):0{width}d}"  # noqa: E731
    found, place = "", 0
    pattern = pattern.replace("''", "")
    whole = rng.random() < 0.5
    pattern = pattern.replace("[", "").replace("]", "") if whole else pattern.partition("[")[0]
    while place < len(pattern):
        letter, end = pattern[place], place
        while end < len(pattern) and pattern[end] == letter:
            end += 1
        width, place = end - place, end
        if letter == "y":
            found += rng.choice(("", "", "", "-", "+")) + number(0, 10 ** max(width, 2) - 1, width)
        elif letter in "MdHhmsD":
            word = rng.choice(("Jan", "FEB", "may", "January", "apr\u0131l", "\u017fep", "Dez"))
            most = {"M": 12, "d": 31, "H": 24, "h": 13, "m": 60, "s": 60, "D": 367}[letter]
            found += word if letter == "M" and width > 2 else number(0, most, width)
        elif letter == "S":
            found += str(rng.randint(0, 10**width))
        elif letter == "a":
            found += rng.choice(("am", "PM", "Am", "x"))
        elif letter == "X":
            found += rng.choice(("Z", "z", "+01:00", "-18:00", "+18:01", "+1", "+09:60"))
        else:
            found += letter * width
    around = ("", "", "", "", " ", "x", "1")
    return rng.choice(around) + found + rng.choice(around)


def _json(rng: random.Random, depth: int = 3) -> str:
    """A JSON value, now and then a wrong one."""
    if rng.random() < 0.03:
        return rng.choice(
            ("tru", "01", "1.", "+1", "NaN", "", "nul", "-", "1e", "/**/1", "\x01", "'", '"', "}", "]")
        )
    blank = rng.choice(("", "", " ", "\t", "\n"))
    one = rng.random()
    if depth and one < 0.35:
        return f"{blank}[{','.join(_json(rng, depth - 1) for _ in range(rng.randint(0, 3)))}]{blank}"
    if depth and one < 0.7:
        keys = ('"a"', "'b'", '""', '"é"', '"a\\u0062"', '"😀"', '"\\n"', '"it\'s"', "'\\''")
        pairs = (f"{rng.choice(keys)}:{_json(rng, depth - 1)}" for _ in range(rng.randint(0, 3)))
        return f"{{{','.join(pairs)}}}{blank}"
    return blank + rng.choice(
        ("1", "-0", "1.5e3", "true", "null", '"x"', "'y'", '"\\u00e9"', "0.0", "12345678901234567890")
    )


def _format(rng: random.Random) -> str:
    marks = (
        "%s",
        "%d",
        "%5s",
        "%-6s",
        "%05d",
        "%,d",
        "%1$s",
        "%2$s",
        "%%",
        "x",
        "é",
        "%9d",
        "%-9d",
        "%n",
        "%x",
        "%3$s",
    )
    return "".join(rng.choice(marks) for _ in range(rng.randint(0, 4)))


def _quoted(text: str) -> str:
    return (
        "'"
        + text.replace("\\", "\\\\")
        .replace("'", "\\'")
        .replace("\n", "\\n")
        .replace("\t", "\\t")
        .replace("\x01", "\\u0001")
        + "'"
    )


def _computed(rng: random.Random, text: str) -> str:
    """A text, as a constant or as a column."""
    return rng.choice((_quoted(text), f"concat({_quoted(text)}, substring(s, 1, 0))"))


def _code(rng: random.Random) -> str:
    letters = "abcdABCD+/= \t09%éz"
    # Java up to 17 takes a sign behind `%`.
    return "".join(rng.choice(letters) for _ in range(rng.randint(0, 9))).replace("%+", "%4")


def written_text(rng: random.Random) -> str:
    """A random call."""
    text: Callable[[], str] = lambda: rng.choice(_TEXTS)  # noqa: E731
    moment: Callable[[], str] = lambda: rng.choice(_MOMENTS)  # noqa: E731
    number: Callable[[], str] = lambda: rng.choice(_NUMBERS)  # noqa: E731
    read = rng.choice(_READ)
    marks = ("-", "/", " ", ":", ".", "", "''T''", "[", "]", "''''", ",")
    pattern = "".join(rng.choice(_LETTERS) + rng.choice(marks) for _ in range(rng.randint(0, 4)))
    masks = "".join(f", {rng.choice(_MASKS)}" for _ in range(rng.randint(0, 4)))
    shown = read.replace("''", "\\'")
    return rng.choice(
        (
            lambda: f"date_format({moment()}, '{pattern.replace(_TWICE, _BEHIND)}')",
            lambda: f"{rng.choice(('to_char', 'to_varchar'))}({moment()}, '{pattern.replace(_TWICE, _BEHIND)}')",
            lambda: f"from_unixtime({rng.choice(('i', 'l', 'i8'))}, '{pattern.replace(_TWICE, _BEHIND)}')",
            lambda: f"{rng.choice(_READERS)}({_computed(rng, _moment_text(rng, read))}, '{shown}')",
            lambda: f"{rng.choice(_READERS)}({_computed(rng, _moment_text(rng, read))}, '{shown}')",
            lambda: f"{rng.choice(_READERS)}({_computed(rng, _moment_text(rng, read))}, '{shown}')",
            lambda: f"{rng.choice(_READERS)}({text()}, '{shown}')",
            lambda: f"{rng.choice(('to_timestamp_ntz', 'to_timestamp_ltz'))}({moment()})",
            lambda: f"{rng.choice(('encode', 'decode'))}({text()}, '{rng.choice(_CHARSETS)}')",
            lambda: f"decode({rng.choice(('x', 'unhex(s)', _BYTES))}, '{rng.choice(_CHARSETS)}')",
            lambda: f"decode(encode({text()}, '{rng.choice(_CHARSETS)}'), '{rng.choice(_CHARSETS)}')",
            lambda: f"{rng.choice(_BINARY)}({_computed(rng, _code(rng))}, '{rng.choice(('base64', 'hex', 'utf-8', 'BASE64'))}')",
            lambda: f"{rng.choice(_BINARY)}({text()})",
            lambda: f"{rng.choice(('url_decode', 'try_url_decode'))}({_computed(rng, _code(rng))})",
            lambda: f"mask({text()}{masks})",
            lambda: f"luhn_check({rng.choice((text(), 'CAST(l AS STRING)', _LUHN))})",
            lambda: f"quote({text()})",
            lambda: f"space({rng.choice(('i8', '3', '-1'))})",
            lambda: f"elt({rng.choice(('i8', '1', '2', '0'))}, {text()}, {rng.choice((text(), 'i', 'x'))})",
            lambda: f"elt({rng.choice(('i8', '1', '2'))}, x, x2)",
            lambda: f"{rng.choice(('lpad', 'rpad'))}(x, {rng.randint(-1, 9)}{rng.choice(('', _PAD))})",
            lambda: f"format_string('{_format(rng)}', {text()}, {rng.choice(('i', 'l', 'b', 'NULL'))})",
            lambda: f"printf('{_format(rng)}', {rng.choice(('i8', 'l', '5'))}, {text()}, b)",
            lambda: f"{rng.choice(('json_array_length', 'json_object_keys'))}({_computed(rng, _json(rng))})",
            lambda: f"get_json_object({_computed(rng, _json(rng))}, '${''.join(rng.choices(_STEPS, k=rng.randint(0, 4)))}')",
            lambda: f"timestampadd({rng.choice(_UNITS)}, {rng.choice(('i8', 'i', '3', '-400'))}, {moment()})",
            lambda: f"dateadd({rng.choice(_UNITS)}, {rng.choice(('i8', 'i16', '3', '-400'))}, {moment()})",
            lambda: f"timestampdiff({rng.choice(_UNITS)}, {moment()}, {moment()})",
            lambda: f"datediff({rng.choice(_UNITS)}, {moment()}, {moment()})",
            lambda: f"extract({rng.choice(_PARTS)} FROM {moment()})",
            lambda: f"date_part('{rng.choice(_PARTS)}', {moment()})",
            lambda: f"{rng.choice(_MAKERS)}({rng.choice(('2020', 'i16'))}, {rng.choice(('2', 'i8'))}, 28, {number()}, 59, {rng.choice(_SECONDS)})",
            lambda: f"regexp_extract_all({text()}, '{rng.choice(_REGEX)}', {rng.randint(0, 2)})",
            lambda: f"regexp_extract({text()}, '{rng.choice(_REGEX)}', {rng.randint(0, 3)})",
            lambda: f"{rng.choice(('regexp_substr', 'regexp_instr'))}({text()}, '{rng.choice(_REGEX)}')",
            lambda: f"split_part({text()}, {text()}, {rng.choice(('i8', '1', '-1'))})",
            lambda: f"{rng.choice(('btrim', 'ltrim', 'rtrim'))}({text()}, {text()})",
            lambda: f"decode({rng.choice(('i', 's', 'dt'))}, {rng.choice(('1', _A, 'NULL'))}, {text()}, NULL, 'n', {text()})",
            lambda: f"{rng.choice(_UTF8)}({text()})",
            lambda: f"{rng.choice(_COLLATED)} {rng.choice(('=', '<>', '<', '<=', '<=>', '>'))} {text()}",
            lambda: f"{rng.choice(_ANY_CASE)}({rng.choice(_COLLATED)}{rng.choice(('', '', ', 2'))})",
        )
    )()  # fmt: skip


# fmt: off
_STEPS = (".a", ".a", "[0]", "[*]", "[*]", "[1]", "[\\'b\\']", ".é", ".", "[", " .a", ".*")
_TWICE, _BEHIND, _A, _LUHN, _PAD, _BYTES = "''", "\\'", "'a'", "'79927398713'", ", X'0102'", "X'FEFF0061D83D'"
_READERS = (
    *("to_timestamp", "try_to_timestamp", "to_date", "try_to_date", "to_timestamp_ntz", "to_timestamp_ltz"),
    *("unix_timestamp", "to_unix_timestamp"),
)
_BINARY, _UTF8 = (
    ("to_binary", "try_to_binary"),
    ("validate_utf8", "make_valid_utf8", "try_validate_utf8", "is_valid_utf8"),
)
_MASKS = ("'X'", "'q'", "NULL", "'é'", "'*'")
_MAKERS = (
    "make_timestamp",
    "make_timestamp_ntz",
    "make_timestamp_ltz",
    "try_make_timestamp",
    "try_make_timestamp_ntz",
)
_SECONDS = ("5.5", "60", "60.5", "i8", "i", "m", "0.000001", "59.999999")
_REGEX = ("(a)(b)?", r"(\\d+)-(\\d+)?", "[a-z]+", "(a|b)(5)", "é.", r"\\w", "(?:a|5)+", "(a)?b", "b$")
_COLLATED = (
    "s COLLATE utf8_lcase",
    "'AÉ5' COLLATE UTF8_LCASE",
    "collate(s2, 'utf8_lcase')",
    "s COLLATE utf8_binary",
    *("(concat(s, 'İΣς') COLLATE utf8_lcase)", "collation(s)"),
)
_ANY_CASE = ("length", "upper", "lower", "substring", "left", "octet_length", "hex", "ascii", "reverse")
# fmt: on
