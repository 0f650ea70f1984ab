"""Which types of arguments Spark's functions never take, and which type their values have: asked of Spark.

A type is refused in a place of a function when Spark refuses it there whatever stands in the other places:
beside NULLs, beside itself, beside each other type (of two arguments), and in the place of what it took. Only
what Spark calls a mismatch of types counts; whatever else it says (of values, of constants, of lambdas) is
taken for consent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import pyarrow as pa

from fff.errors import SparkError
from fff.sql.refusals.types.kinds import WORDS, letter_of

#: Letters for the kinds of types, each with what is put in its place: columns, by their types, and constants.
KINDS: dict[str, tuple[tuple[pa.DataType, ...], tuple[str, ...]]] = {
    "b": ((pa.bool_(),), ("TRUE",)),
    "y": ((pa.int8(),), ("1Y",)),
    "h": ((pa.int16(),), ("1S",)),
    "i": ((pa.int32(),), ("1",)),
    "l": ((pa.int64(),), ("1L",)),
    "f": ((pa.float32(),), ("1F",)),
    "d": ((pa.float64(),), ("1D",)),
    "m": ((pa.decimal128(10, 2), pa.decimal128(5, 0), pa.decimal128(38, 18)), ("1.5", "1BD")),
    "s": ((pa.string(),), ("concat('1', '')", "concat('a', '')")),
    "S": ((), ("'1'", "'2020-02-29'", "'year'", "'a'")),
    "x": ((pa.binary(),), ("X'31'",)),
    "t": ((pa.date32(),), ("DATE '2020-02-29'",)),
    "T": ((pa.timestamp("us", tz="UTC"),), ("TIMESTAMP '2020-02-29 00:00:00'",)),
    "n": ((pa.timestamp("us"),), ("TIMESTAMP_NTZ '2020-02-29 00:00:00'",)),
    "a": (
        (
            *map(pa.list_, (pa.int32(), pa.string(), pa.float64(), pa.float32(), pa.bool_(), pa.binary())),
            *(pa.list_(pa.list_(pa.int32())), pa.list_(pa.date32()), pa.list_(pa.int64())),
            pa.list_(pa.struct([("k", pa.string()), ("v", pa.int32())])),
            *(pa.list_(pa.timestamp("us", tz="UTC")), pa.list_(pa.map_(pa.string(), pa.int32()))),
        ),
        ("array(1)", "array('a')", "array()"),
    ),
    "p": (
        (pa.map_(pa.string(), pa.int32()), pa.map_(pa.string(), pa.string()), pa.map_(pa.int32(), pa.string())),
        ("map('a', 'b')", "map('a', 1)", "map()"),
    ),
    "r": (
        (
            pa.struct([("k", pa.int32()), ("n", pa.string())]),
            pa.struct([("start", pa.timestamp("us", tz="UTC")), ("end", pa.timestamp("us", tz="UTC"))]),
            pa.struct([("v", pa.string())]),
        ),
        ("named_struct('a', 1)", "struct(1, 2)"),
    ),
    "D": ((pa.duration("us"),), ("INTERVAL '1' DAY", "INTERVAL '1' HOUR")),
    "M": ((), ("INTERVAL '1' MONTH", "INTERVAL '1' YEAR", "INTERVAL '1-2' YEAR TO MONTH")),
}  # fmt: skip
#: What stands for a kind: columns, and constants.
STANDS_FOR: dict[str, tuple[str, ...]] = {}
_COLUMNS: dict[str, pa.DataType] = {}
for _kind, (_types, _constants) in KINDS.items():
    _names = {f"c{len(_COLUMNS) + number}": one for number, one in enumerate(_types)}
    _COLUMNS |= _names
    STANDS_FOR[_kind] = (*_names, *_constants)
#: A table with all columns.
PROBED = pa.table([pa.nulls(1, kind) for kind in _COLUMNS.values()], names=list(_COLUMNS))
#: Functions that take a unit of time and two arguments as well.
OF_UNITS = ("date_add", "date_diff", "dateadd", "datediff")
#: Mismatches that another constant, or another type beside it, might mend.
_NOT_OF_TYPES = frozenset(["[]", "[VALUE_OUT_OF_RANGE]", "[UNEXPECTED_NULL]", "[INVALID_ARG_VALUE]"])
#: Asked for a constant before anything is said of types.
_NO_CONSTANT = "[NON_FOLDABLE_INPUT]"
_OF_NULLS = "[NULL_TYPE]"
_NESTED = "apr"
#: Functions that are also asked about with more arguments than one; all are with one. Not among them: those
#: that take intervals of their own (`try_add`, `sequence`), texts of a form of their own (`to_number`), or
#: the keys of a map (`map_contains_key`).
SEVERAL = frozenset(
    """
    add_months aes_decrypt aes_encrypt approx_percentile approx_top_k approx_top_k_accumulate
    approx_top_k_combine approx_top_k_estimate array_append array_contains array_except array_insert
    array_intersect array_join array_position array_prepend array_remove array_repeat array_union
    arrays_overlap arrays_zip assert_true atan2 bit_get bround btrim ceil ceiling concat_ws contains
    conv convert_timezone corr count_min_sketch counter_diff covar_pop covar_samp date_add date_diff
    date_format date_sub date_trunc dateadd datediff decode element_at elt encode endswith
    find_in_set floor format_number format_string from_unixtime from_utc_timestamp get
    get_json_object getbit hash histogram_numeric hll_sketch_agg hll_union hll_union_agg hmac hypot
    if ilike instr jaro_winkler_similarity kll_merge_agg_bigint kll_merge_agg_double
    kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float
    kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double kll_sketch_get_quantile_float
    kll_sketch_get_rank_bigint kll_sketch_get_rank_double kll_sketch_get_rank_float
    kll_sketch_merge_bigint kll_sketch_merge_double kll_sketch_merge_float left levenshtein like
    listagg locate log lpad ltrim make_date make_dt_interval make_interval make_time make_timestamp
    make_timestamp_ltz make_timestamp_ntz make_ym_interval map_concat
    map_from_arrays mask max_by min_by mod months_between nanvl next_day nth_value overlay parse_url
    percentile percentile_approx pmod position pow power printf regexp regexp_count regexp_extract
    regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr regr_avgx regr_avgy
    regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat replace right
    rlike round rpad rtrim sentences session_window sha2 shiftleft shiftright shiftrightunsigned
    shuffle slice sort_array split split_part st_asbinary st_geomfromwkb st_setsrid startswith
    str_to_map string_agg substr substring substring_index theta_difference theta_intersection
    theta_sketch_agg theta_union theta_union_agg time_bucket time_diff time_trunc to_binary to_char
    to_csv to_date to_json to_time to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp
    to_utc_timestamp to_varchar to_xml translate trim trunc try_aes_decrypt try_avg try_divide
    try_element_at try_make_interval try_make_timestamp try_make_timestamp_ltz
    try_make_timestamp_ntz try_mod try_multiply try_subtract try_sum try_to_binary try_to_date
    try_to_time try_to_timestamp try_variant_array_append try_variant_get try_variant_insert
    try_variant_set tuple_difference_double tuple_difference_integer tuple_difference_theta_double
    tuple_difference_theta_integer tuple_intersection_agg_double tuple_intersection_agg_integer
    tuple_intersection_double tuple_intersection_integer tuple_intersection_theta_double
    tuple_intersection_theta_integer tuple_sketch_agg_double tuple_sketch_agg_integer
    tuple_sketch_summary_double tuple_sketch_summary_integer tuple_union_agg_double
    tuple_union_agg_integer tuple_union_double tuple_union_integer tuple_union_theta_double
    tuple_union_theta_integer uniform unix_timestamp variant_array_append variant_delete variant_get
    variant_insert variant_set variant_strip_nulls vector_cosine_similarity vector_inner_product
    vector_l2_distance vector_norm vector_normalize width_bucket xpath xpath_boolean xpath_double
    xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string xxhash64
    """.split()  # noqa: SIM905 - as such lists are written
)
_PAIR = 2
#: Calls of one question.
_AT_ONCE = 120
#: Of the columns and constants of a kind, so many stand beside others.
_SOME = 3
#: Operators, and what brings several values to one type, by the names they have in the table.
FORMS = {
    **{
        form: f"{{0}} {form} {{1}}"
        for form in ("=", "<", "+", "-", "*", "/", "%", "div", "||", "&", "and", "like")
    },
    **{form: f"{form}({{0}}, {{1}})" for form in ("coalesce", "greatest", "array")},
    "in": "{0} IN ({1})",
    **{form: f"{form} {{0}}" for form in ("not", "~")},
    "neg": "- {0}",
    "when": "CASE WHEN {0} THEN 1 END",
}
CASTS = ("cast", "try_cast")
#: A type of each kind, as CAST takes it.
TARGETS = {
    kind: {
        "m": "decimal(10,2)",
        "a": "array<int>",
        "p": "map<string,int>",
        "r": "struct<k:int>",
        "D": "interval day",
        "M": "interval month",
    }.get(kind, WORDS[kind])
    for kind in KINDS
}


class Prober:
    """Asks Spark about calls of its functions; `judged` gives the types of expressions, or what is wrong with them."""

    def __init__(self, judged: Callable[[Sequence[str]], list[str]]) -> None:
        self._judged = judged

    def outcomes(self, calls: Sequence[str]) -> list[str]:
        """Of each call the kind of its value; or `refused` for its types, `unclear` where a constant has to stand, or `wrong`."""
        outcomes: list[str] = []
        for start in range(0, len(calls), _AT_ONCE):
            outcomes += self._some_outcomes(calls[start : start + _AT_ONCE])
        return outcomes

    def _some_outcomes(self, calls: Sequence[str]) -> list[str]:
        try:
            types = self._judged(calls)
        except SparkError:
            types = []
        if len(types) == len(calls):
            return [_outcome(one) for one in types]
        if len(calls) == 1:
            return ["wrong"]
        half = len(calls) // 2
        return self._some_outcomes(calls[:half]) + self._some_outcomes(calls[half:])

    def entry(self, name: str, count: int, *before: str) -> str | None:
        """What a call of so many arguments, behind words, refuses in each place, and the kind of its values; None: nothing is known."""

        def call(args: Sequence[str]) -> str:
            return f"{name}({', '.join((*before, *args))})"

        refused, taken = set[tuple[int, str]](), set[tuple[int, str]]()
        gives, witnesses = set[str](), list[tuple[str, ...]]()

        def ask(asked: Sequence[tuple[tuple[str, ...], str]]) -> None:
            """Calls, and of what kind each argument is in them; a blank where that does not matter."""
            for (args, kinds), outcome in zip(
                asked, self.outcomes([call(one) for one, _ in asked]), strict=True
            ):
                if len(outcome) == 1:
                    gives.add(outcome)
                    witnesses.append(args)
                about = {(place, kind) for place, kind in enumerate(kinds) if kind != " "}
                if outcome != "unclear":
                    (refused if outcome == "refused" else taken).update(about)

        nulls, blanks = ("NULL",) * count, " " * count
        every = [(kind, one) for kind, stands in STANDS_FOR.items() for one in stands]
        ask([(nulls, blanks)])
        if self.outcomes([call(nulls)]) == ["wrong"] == self.outcomes([call(["1"] * count)]):
            return None
        # All, or what stands before a number.
        together = {tuple(range(count)), tuple(range(max(1, count - 1)))}
        for places in {*combinations(range(count), 1), *together}:
            ask([(_with(nulls, places, one), _marked(blanks, places, kind)) for kind, one in every])
        tried = sorted({witnesses[0], witnesses[-1]}) if count > 1 and witnesses else []
        # Two may want to be of one type, as texts or bytes.
        pairs = combinations(range(count), 2 if count > _PAIR else 1)
        for places in {*combinations(range(count), 1), *pairs, *together} if tried else ():
            left = [
                (kind, one)
                for kind, one in every
                if kind in _NESTED or any((place, kind) not in taken for place in places)
            ]
            ask(
                [
                    (_with(witness, places, one), _marked(blanks, places, kind))
                    for witness in tried
                    for kind, one in left
                ]
            )
        if count == _PAIR:  # an array takes a number beside it, and a map one of its keys
            ask(
                [
                    ((one, other), left + right)
                    for left, ones in STANDS_FOR.items()
                    for right, others in STANDS_FOR.items()
                    if (0, left) not in taken or (1, right) not in taken
                    for one in ones[:_SOME]
                    for other in others[:_SOME]
                ]
            )
        if not witnesses:
            return None
        never = ["" for _ in before] + [
            "".join(kind for kind in KINDS if (place, kind) in refused - taken) for place in range(count)
        ]
        value = next(iter(gives)) if len(gives) == 1 else "?"
        return f"{name}:{'/'.join(never)}:{value}" if any(never) or value != "?" else None

    def operators(self) -> list[str]:
        """Of each form and kind on its left, what comes of each kind on its right: `form:left:outcomes`."""
        asked = [
            (form, left, right, written.format(one, other))
            for form, written in FORMS.items()
            for left in KINDS
            for right in (KINDS if "{1}" in written else "-")
            for one in STANDS_FOR[left][:_SOME]
            for other in STANDS_FOR.get(right, "-")[:_SOME]
        ]
        asked += [
            (form, left, right, f"{form}({one} AS {target})")
            for form in CASTS
            for left in KINDS
            for right, target in TARGETS.items()
            for one in STANDS_FOR[left]
        ]
        outcomes = dict[tuple[str, str], dict[str, set[str]]]()
        for (form, left, right, _), outcome in zip(
            asked, self.outcomes([call for *_, call in asked]), strict=True
        ):
            outcomes.setdefault((form, left), {}).setdefault(right, set()).add(outcome)
        return [
            f"{form}:{left}:{''.join(map(_common, row.values()))}" for (form, left), row in outcomes.items()
        ]


def _common(outcomes: set[str]) -> str:
    """What is said of all, or of all that are not refused."""
    if outcomes == {"refused"}:
        return "!"
    [*kinds] = outcomes - {"refused"}
    return kinds[0] if len(kinds) == 1 and len(kinds[0]) == 1 else "?"


def _outcome(judged: str) -> str:
    if not judged.startswith("["):
        return letter_of(judged) or "?"
    if judged in (_OF_NULLS, _NO_CONSTANT):
        return "unclear"
    return "wrong" if judged in _NOT_OF_TYPES else "refused"


def _marked(blanks: str, places: Sequence[int], kind: str) -> str:
    return "".join(kind if place in places else blank for place, blank in enumerate(blanks))


def _with(args: tuple[str, ...], places: Sequence[int], one: str) -> tuple[str, ...]:
    return tuple(one if place in places else arg for place, arg in enumerate(args))
