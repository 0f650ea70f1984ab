"""What Spark shows of functions and intervals in the names of columns, where that is not what is written."""

from __future__ import annotations

#: Functions that are casts, of which nothing is shown.
CASTS = frozenset(
    {
        *("bigint", "binary", "boolean", "date", "decimal", "double", "float", "int", "smallint", "string"),
        *("timestamp", "tinyint"),
    }
)
#: Units of intervals: what they are shown as, how many of those one is, and the least digits.
UNITS = {
    "YEAR": ("YEAR", 1, 1), "MONTH": ("MONTH", 1, 1), "WEEK": ("DAY", 7, 1), "DAY": ("DAY", 1, 1),
    "HOUR": ("HOUR", 1, 2), "MINUTE": ("MINUTE", 1, 2), "SECOND": ("SECOND", 1, 2),
}  # fmt: skip
#: Functions that Spark names in its own way, or shows as other calls.
OTHERWISE = frozenset(
    {
        *("to_varchar", "overlay", "cast", "try_cast", "interval", "collate", "to_char", "make_interval"),
        *("try_make_interval", "explode", "explode_outer", "posexplode", "posexplode_outer", "inline"),
        *("inline_outer", "stack", "json_tuple", "from_json", "from_csv", "from_xml", "variant_get"),
    }
)
#: Functions whose names Spark writes in capitals.
CAPITALS = frozenset(
    {
        *("cbrt", "ceil", "degrees", "e", "exp", "floor", "log", "log10", "log2", "pi", "power", "radians"),
        *("regexp_like", "rlike", "signum", "sqrt"),
    }
)
VARIABLE = "namedlambdavariable()"
_SAME = f"lambdafunction({VARIABLE}, {VARIABLE})"
#: How `array_sort` compares without a lambda of its own.
_COMPARES = (
    "lambdafunction((IF(((v IS NULL) AND (v IS NULL)), 0, (IF((v IS NULL), 1, (IF((v IS NULL), -1, "
    "(IF((v < v), -1, (IF((v > v), 1, 0)))))))))), v, v)"
).replace("v", VARIABLE)
#: What it shows behind the arguments that are written, by name and their number.
SHOWN_BESIDE = {
    ("aggregate", 3): _SAME,
    ("array_sort", 1): _COMPARES,
    ("bround", 1): "0",
    ("from_unixtime", 1): "yyyy-MM-dd HH:mm:ss",
    ("locate", 2): "1",
    ("make_dt_interval", 1): "0, 0, 0.000000",
    ("make_dt_interval", 2): "0, 0.000000",
    ("make_dt_interval", 3): "0.000000",
    ("make_ym_interval", 1): "0",
    ("mask", 1): "X, x, n, NULL",
    ("mask", 2): "x, n, NULL",
    ("mask", 3): "n, NULL",
    ("mask", 4): "NULL",
    ("months_between", 2): "true",
    ("position", 2): "1",
    ("reduce", 3): _SAME,
    ("regexp_extract", 2): "1",
    ("regexp_extract_all", 2): "1",
    ("regexp_instr", 2): "0",
    ("regexp_replace", 3): "1",
    ("replace", 2): "",
    ("round", 1): "0",
    ("sort_array", 1): "true",
    ("split", 2): "-1",
    ("substr", 2): "2147483647",
    ("substring", 2): "2147483647",
    ("to_unix_timestamp", 1): "yyyy-MM-dd HH:mm:ss",
    ("unix_timestamp", 1): "yyyy-MM-dd HH:mm:ss",
}
#: Functions that it shows as something else, by their numbers of arguments.
SHOWN = {
    ("positive", 1): "(+ {})",
    ("isnull", 1): "({} IS NULL)",
    ("isnotnull", 1): "({} IS NOT NULL)",
    ("initcap", 1): "initcap({})",
    ("if", 3): "(IF({}, {}, {}))",
    ("log", 1): "LOG(E(), {})",
    ("floor", 2): "floor({}, {})",
    ("ceil", 2): "ceil({}, {})",
    ("datepart", 2): "datepart({} FROM {})",
    ("dateadd", 2): "date_add({}, {})",
    ("ltrim", 2): None,
    ("rtrim", 2): None,
    ("curdate", 0): None,
    ("unix_timestamp", 0): None,
}
#: Functions of a unit of time, which is no value, and what they are shown as.
OF_UNITS = {
    "date_add": "timestampadd", "dateadd": "timestampadd", "timestampadd": "timestampadd",
    "date_diff": "timestampdiff", "datediff": "timestampdiff", "timestampdiff": "timestampdiff",
    "timediff": "timestampdiff",
}  # fmt: skip
#: Of what the variables of lambdas are: elements of the first argument, of the first two, or of what goes on.
LAMBDAS = {
    "transform": "item", "filter": "item", "exists": "item", "forall": "item", "zip_with": "items",
    "aggregate": "sum", "reduce": "sum",
    "map_filter": "entry", "transform_keys": "entry", "transform_values": "entry",
}  # fmt: skip
