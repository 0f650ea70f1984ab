"""The names of Spark SQL's own functions: no other function may take one, and a call of any other name is a mistake."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence

from fff.errors import QueryError, Span
from fff.sql.syntax.function_arities import ARITIES, TAKE_NAMES
from fff.sql.syntax.parse import parse_statement
from fff.sql.syntax.statement import (
    TEXTS,
    Node,
    Statement,
    Token,
    TokenType,
    exp,
    identifier_span,
    token_span,
)
from fff.structs import lazy_pattern

#: More arguments than any call has.
_ANY = 10**9
_BEFORE_STAR = frozenset({TokenType.L_PAREN, TokenType.COMMA, TokenType.DOT, TokenType.DISTINCT})
#: Behind these a name is that of a table or a column.
_BEFORE_NAME = frozenset({TokenType.ALIAS, TokenType.DOT, TokenType.R_PAREN, TokenType.WITH})
#: Words that stand between arguments in forms of Spark's grammar: `substring(x FROM 2)`.
_FORMS = frozenset({"FROM", "FOR", "IN", "PLACING", "AS", "USING"})
#: Functions that take a unit of time as well, which is no argument; one whose second argument must be true or false,
#: and one that is a CASE with more than three arguments.
_OTHER_FORMS = frozenset(
    [
        "dateadd",
        "date_add",
        "datediff",
        "date_diff",
        "timediff",
        "timestampadd",
        "timestampdiff",
        "mode",
        "decode",
    ]
)
#: What the parser makes of some functions, as of `mod`, `element_at` and `from_utc_timestamp`, and then drops arguments.
_READ_AS_OTHERS = (exp.Binary, exp.Bracket, exp.AtTimeZone, exp.FromTimeZone)
#: Functions that the parser gives no place, and calls otherwise.
_RENAMED: dict[type[Node], tuple[str, ...]] = {
    exp.Quantile: ("percentile",),
    exp.ApproxQuantile: ("approx_percentile", "percentile_approx"),
    exp.GroupConcat: ("listagg", "string_agg"),
    exp.ArrayContains: ("array_contains",),
    exp.ArrayPosition: ("array_position",),
    exp.StrPosition: ("position",),
    exp.Pow: ("pow", "power"),
}
#: Functions that are written as operators, too.
_OPERATORS = frozenset(
    [
        *("and", "or", "not", "in", "between", "like", "ilike", "rlike", "regexp", "div", "is"),
        *("case", "when", "cast", "try_cast", "exists", "any", "some", "all", "interval"),
    ]
)
#: Those of them that sqlglot reads as functions of any number of arguments.
_CONNECTING = frozenset({"and", "or", "like", "ilike", "rlike", "regexp", "div"})
#: Behind these begins a value.
_BEFORE_VALUE = frozenset(
    TokenType[name]
    for name in (
        *(
            "SELECT",
            "DISTINCT",
            "WHERE",
            "HAVING",
            "QUALIFY",
            "ON",
            "GROUP_BY",
            "ORDER_BY",
            "L_PAREN",
            "COMMA",
        ),
        *("AND", "OR", "CASE", "WHEN", "THEN", "ELSE", "ARROW", "EQ", "NEQ", "LT", "LTE", "GT", "GTE"),
        *("NULLSAFE_EQ", "PLUS", "DASH", "STAR", "SLASH", "MOD", "DPIPE", "BETWEEN"),
    )
)
#: Nodes with places that are no functions, even before brackets: `t(a, b)`.
_NAMED_ONLY = (exp.Identifier, exp.Literal, exp.Star)
_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*\Z")

#: `SHOW SYSTEM FUNCTIONS` of Spark 4, operators apart.
SPARK_FUNCTIONS = frozenset(
    """
    abs acos acosh add_months aes_decrypt aes_encrypt aggregate and any any_value
    approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
    approx_top_k_combine approx_top_k_estimate array array_agg array_append array_compact
    array_contains array_distinct array_except array_insert array_intersect array_join array_max
    array_min array_position array_prepend array_remove array_repeat array_size array_sort
    array_union arrays_overlap arrays_zip ascii asin asinh assert_true atan atan2 atanh avg base64
    between bigint bin binary bit_and bit_count bit_get bit_length bit_or bit_xor bitmap_and_agg
    bitmap_bit_position bitmap_bucket_number bitmap_construct_agg bitmap_count bitmap_or_agg
    bool_and bool_or boolean bround btrim cardinality case cast cbrt ceil ceiling char char_length
    character_length chr coalesce collate collation collations collect_list collect_set
    collect_union concat concat_ws contains conv convert_timezone corr cos cosh cot count count_if
    count_min_sketch counter_diff covar_pop covar_samp crc32 csc cume_dist curdate current_catalog
    current_database current_date current_path current_schema current_time current_timestamp
    current_timezone current_user date date_add date_diff date_format date_from_unix_date date_part
    date_sub date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear decimal
    decode degrees dense_rank div double e element_at elt encode endswith equal_null every exists
    exp explode explode_outer expm1 extract factorial filter find_in_set first first_value flatten
    float floor forall format_number format_string from_avro from_base32 from_csv from_json
    from_protobuf from_unixtime from_utc_timestamp from_xml get get_json_object getbit greatest
    grouping grouping_id hash hex histogram_numeric hll_sketch_agg hll_sketch_estimate hll_union
    hll_union_agg hmac hour hypot if ifnull ilike in initcap inline inline_outer
    input_file_block_length input_file_block_start input_file_name instr int is_valid_utf8
    is_valid_variant is_variant_null isnan isnotnull isnull jaro_winkler_similarity java_method
    json_array_length json_object_keys json_tuple kll_merge_agg_bigint kll_merge_agg_double
    kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float
    kll_sketch_get_n_bigint kll_sketch_get_n_double kll_sketch_get_n_float
    kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double kll_sketch_get_quantile_float
    kll_sketch_get_rank_bigint kll_sketch_get_rank_double kll_sketch_get_rank_float
    kll_sketch_merge_bigint kll_sketch_merge_double kll_sketch_merge_float
    kll_sketch_to_string_bigint kll_sketch_to_string_double kll_sketch_to_string_float kurtosis lag
    last last_day last_value lcase lead least left len length levenshtein like listagg ln localtime
    localtimestamp locate log log10 log1p log2 lower lpad ltrim luhn_check make_date
    make_dt_interval make_interval make_time make_timestamp make_timestamp_ltz make_timestamp_ntz
    make_valid_utf8 make_ym_interval map map_concat map_contains_key map_entries map_filter
    map_from_arrays map_from_entries map_keys map_values map_zip_with mask max max_by md5 mean
    measure median min min_by minute mod mode monotonically_increasing_id month monthname
    months_between named_struct nanvl negative next_day not now nth_value ntile nullif nullifzero
    nvl nvl2 octet_length or overlay parse_json parse_url percent_rank percentile percentile_approx
    percentile_cont percentile_disc pi pmod posexplode posexplode_outer position positive pow power
    printf python_worker_logs quarter quote radians raise_error rand randn random randstr range rank
    reduce reflect regexp regexp_count regexp_extract regexp_extract_all regexp_instr regexp_like
    regexp_replace regexp_substr regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope
    regr_sxx regr_sxy regr_syy repeat replace reverse right rint rlike round row_number rpad rtrim
    schema_of_avro schema_of_csv schema_of_json schema_of_variant schema_of_variant_agg
    schema_of_xml sec second sentences sequence session_user session_window sha sha1 sha2 shiftleft
    shiftright shiftrightunsigned shuffle sign signum sin sinh size skewness slice smallint some
    sort_array soundex space spark_partition_id split split_part sql_keywords sqrt st_asbinary
    st_geogfromwkb st_geomfromwkb st_setsrid st_srid stack startswith std stddev stddev_pop
    stddev_samp str_to_map string string_agg struct substr substring substring_index sum tan tanh
    theta_difference theta_intersection theta_intersection_agg theta_sketch_agg
    theta_sketch_estimate theta_union theta_union_agg time time_bucket time_diff time_from_micros
    time_from_millis time_from_seconds time_to_micros time_to_millis time_to_seconds time_trunc
    timestamp timestamp_micros timestamp_millis timestamp_nanos timestamp_seconds tinyint to_avro
    to_base32 to_binary to_char to_csv to_date to_json to_number to_protobuf to_time to_timestamp
    to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp to_varchar
    to_variant_object to_xml transform transform_keys transform_values translate trim trunc try_add
    try_aes_decrypt try_avg try_divide try_element_at try_make_interval try_make_timestamp
    try_make_timestamp_ltz try_make_timestamp_ntz try_mod try_multiply try_parse_json try_parse_url
    try_reflect try_subtract try_sum try_to_binary try_to_date try_to_number try_to_time
    try_to_timestamp try_url_decode try_validate_utf8 try_variant_array_append try_variant_get
    try_variant_insert try_variant_set tuple_difference_double tuple_difference_integer
    tuple_difference_theta_double tuple_difference_theta_integer tuple_intersection_agg_double
    tuple_intersection_agg_integer tuple_intersection_double tuple_intersection_integer
    tuple_intersection_theta_double tuple_intersection_theta_integer tuple_sketch_agg_double
    tuple_sketch_agg_integer tuple_sketch_estimate_double tuple_sketch_estimate_integer
    tuple_sketch_summary_double tuple_sketch_summary_integer tuple_sketch_theta_double
    tuple_sketch_theta_integer tuple_union_agg_double tuple_union_agg_integer tuple_union_double
    tuple_union_integer tuple_union_theta_double tuple_union_theta_integer typeof ucase unbase64
    unhex uniform unix_date unix_micros unix_millis unix_nanos unix_seconds unix_timestamp upper
    url_decode url_encode user uuid validate_utf8 var_pop var_samp variance variant_array_append
    variant_delete variant_explode variant_explode_outer variant_get variant_insert variant_set
    variant_strip_nulls vector_avg vector_cosine_similarity vector_inner_product vector_l2_distance
    vector_norm vector_normalize vector_sum version weekday weekofyear when width_bucket window
    window_time xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number
    xpath_short xpath_string xxhash64 year zeroifnull zip_with
    """.split()  # noqa: SIM905 - a list of so many words would be as many lines
)


#: What others call to read a file, or a table of a database.
_READERS = lazy_pattern(
    r"(read|scan)_(csv|parquet|json|json_objects|ndjson|ndjson_objects|xlsx|files|arrow)(_auto)?|(csv|parquet|arrow)_scan"
    r"|(?P<database>(sqlite|postgres|mysql)_(scan|query))",
    re.IGNORECASE,
)

#: What Spark's grammar calls without its being a function of the catalog.
_GRAMMAR = frozenset({"identifier", "timediff", "timestampadd", "timestampdiff", "try_cast"})
#: Functions with a grammar of their own, of which sqlglot keeps no word: `safe_cast(x AS INT)`.
_OWN_FORMS = frozenset(
    [
        *("safe_cast", "convert", "try_convert", "json_object", "normalize", "weight_string"),
        *("arg_max", "arg_min", "argmax", "argmin"),
    ]
)


def check_function_names(statement: Statement) -> None:
    """Refuse calls of functions that Spark has not, once those of sources are gone from the text.

    A name with another before it, as `default.f`, is one of the catalog of somebody's own Spark, which is asked.
    Raises QueryError.
    """
    for table in statement.tree.find_all(exp.Table):
        _check_reader(statement, table.this)
    for name, span in _called(statement):
        if name.lower() in SPARK_FUNCTIONS | _GRAMMAR:
            continue
        close = difflib.get_close_matches(name.lower(), sorted(SPARK_FUNCTIONS), n=2)
        raise statement.error(
            f"unknown function {name}",
            span,
            hint=f"did you mean {' or '.join(close)}?"
            if close
            else "neither Spark SQL nor a source has a function of this name",
        )


def _called(statement: Statement) -> Iterator[tuple[str, Span | None]]:
    """The functions that are called, as they are written: sqlglot makes one node of `instr` and of `strpos`."""
    tokens = statement.tokens
    for node in statement.tree.walk():
        span = identifier_span(node)
        if isinstance(node.parent, exp.Dot | exp.Hint) or isinstance(node, _NAMED_ONLY):
            continue
        if isinstance(node, exp.Anonymous):
            yield node.this if isinstance(node.this, str) else node.this.name, span
        elif span is not None and _is_before_bracket(tokens, at := statement.token_at(span.start)):
            yield tokens[at].text, span
    for at, token in enumerate(tokens):
        foreign = token.text.lower() in _OWN_FORMS and token.token_type not in TEXTS
        called = foreign and _is_before_bracket(tokens, at) and tokens[at - 1].token_type in _BEFORE_VALUE
        if called and not _names_query(statement, at):
            yield token.text, token_span(token)


def _names_query(statement: Statement, at: int) -> bool:
    """Whether a word before brackets is what WITH calls a query: `WITH a AS (…), convert (x) AS (…)`."""
    behind = statement.tokens[statement.closing(at + 1) + 1 :][:2]
    return [one.token_type for one in behind] == [TokenType.ALIAS, TokenType.L_PAREN]


def _is_before_bracket(tokens: Sequence[Token], at: int) -> bool:
    return at + 1 < len(tokens) and tokens[at + 1].token_type is TokenType.L_PAREN


def _check_reader(statement: Statement, call: object) -> None:
    """Say to who reads a file or a database as in DuckDB how that is done here."""
    if not isinstance(call, exp.Anonymous | exp.ReadCSV | exp.ReadParquet):
        return
    name = call.name if isinstance(call, exp.Anonymous) else call.sql_name()
    reads = _READERS.fullmatch(name)
    if reads is None:
        return
    file = call.find(exp.Literal)
    named = f"FROM '{file.name if file is not None else 'FILE'}'"
    raise statement.error(
        f"unknown function {name.lower()}",
        identifier_span(call),
        hint="a database is a source of type adbc in a spec"
        if reads["database"]
        else f"a file is a table: {named}",
    )


def _counts(text: str) -> list[range]:
    """The numbers of arguments that `1,3+` means."""
    return [
        range(int(one.rstrip("+")), _ANY if one.endswith("+") else int(one) + 1) for one in text.split(",")
    ]


_TAKE_NAMES = frozenset(TAKE_NAMES.split())
_UNCOUNTED = _OTHER_FORMS | (_OPERATORS - _CONNECTING)
_ARITIES = {
    name: counts
    for name, _, counts in (entry.partition(":") for entry in ARITIES.split())
    if name not in _UNCOUNTED
}


def check_arguments(statement: Statement) -> None:
    """Refuse calls of Spark's functions with a number of arguments that they do not take. Raises QueryError."""
    names = filter(None, map(identifier_span, statement.tree.find_all(*_READ_AS_OTHERS)))
    connecting = (at for at, token in enumerate(statement.tokens) if token.text.lower() in _CONNECTING)
    for at in sorted(
        {*calls_of(statement), *(statement.token_at(name.start) for name in names), *connecting}
    ):
        name = statement.tokens[at].text.lower()
        if name in _CONNECTING and not _begins_value(statement, at):
            continue
        _check_names(statement, at, name)
        _check_extract(statement, at, name)
        arities = _counts(_ARITIES[name]) if name in _ARITIES else []
        spans = arguments_of(statement, at) if arities else None
        if spans is None or any(len(spans) in counts for counts in arities):
            continue
        *some, last = (str(one.start) if one.stop < _ANY else f"{one.start} or more" for one in arities)
        takes = f"{', '.join(some)} or {last}" if some else last
        raise statement.error(
            f"{name} takes {takes} {'argument' if takes == '1' else 'arguments'}, not {len(spans)}",
            statement.span(at, at + 1),
        )


def _begins_value(statement: Statement, at: int) -> bool:
    """Whether a word that may be an operator as well stands where a value begins: `NOT like(a, b)`, not `a NOT LIKE (b)`."""
    token, before = statement.tokens[at], statement.tokens[at - 1].token_type
    while at > 1 and before is TokenType.NOT:
        at, before = at - 1, statement.tokens[at - 2].token_type
    return token.token_type not in TEXTS and before in _BEFORE_VALUE


def _check_extract(statement: Statement, at: int, name: str) -> None:
    """`extract(YEAR FROM x)` or `extract('YEAR', x)`: sqlglot takes either word for either form. Raises QueryError."""
    if name != "extract" or at + 3 >= len(statement.tokens):
        return
    part, behind = (one.token_type for one in statement.tokens[at + 2 : at + 4])
    if behind is (TokenType.FROM if part in TEXTS else TokenType.COMMA):
        raise statement.error(
            "syntax error: the part that extract takes is a word before FROM, or a text before a comma",
            statement.span(at + 2, at + 4),
            hint=f"write extract({statement.tokens[at + 2].text} FROM …)",
        )


def _check_names(statement: Statement, at: int, name: str) -> None:
    """Refuse names of arguments where a function of Spark's has none. Raises QueryError."""
    end = statement.closing(at + 1) if at + 1 < len(statement.tokens) else -1
    for place in range(at + 2, end if name in SPARK_FUNCTIONS and name not in _TAKE_NAMES else 0):
        inside = statement.depths[place] == statement.depths[at] + 1
        if inside and statement.tokens[place].token_type is TokenType.FARROW:
            raise statement.error(
                f"the arguments of {name} have no names", statement.span(place - 1, place + 1)
            )


def calls_of(statement: Statement) -> Iterator[int]:
    """The tokens of the names of functions."""
    without_place: set[str] = set()  # the parser gives some functions none
    for node in statement.tree.find_all(exp.Func):
        without_place |= set(_RENAMED.get(type(node), ()))
        if isinstance(node, exp.Binary) or isinstance(node.parent, exp.Table | exp.Hint):
            continue
        span = identifier_span(node)
        if span is not None:
            yield statement.token_at(span.start)
        else:
            without_place |= {name.lower() for name in type(node).sql_names()}
    for at, token in enumerate(statement.tokens) if without_place else ():
        if token.text.lower() in without_place and statement.tokens[at - 1].token_type not in _BEFORE_NAME:
            yield at


def arguments_of(statement: Statement, at: int, *, within: bool = False) -> list[tuple[int, int]] | None:
    """The first token of each argument of a call, and the one behind it.

    None where they cannot be told: a star, names for arguments, a form of its own; `WITHIN GROUP` behind it, unless that is `within`.
    """
    tokens, depths = statement.tokens, statement.depths
    if at + 1 >= len(tokens) or tokens[at + 1].token_type is not TokenType.L_PAREN:
        return None
    end = statement.closing(at + 1)
    behind = tokens[end + 1].text.upper() if 0 <= end < len(tokens) - 1 else ""
    if end < 0 or (behind == "WITHIN") is not within or (at and tokens[at - 1].token_type is TokenType.DOT):
        return None
    commas = []
    for index in range(at + 2, end):
        if depths[index] != depths[at] + 1:
            continue
        kind, before = tokens[index].token_type, tokens[index - 1].token_type
        starred = kind is TokenType.STAR and before in _BEFORE_STAR
        if starred or kind is TokenType.FARROW or tokens[index].text.upper() in _FORMS:
            return None
        if kind is TokenType.COMMA:
            commas.append(index)
    starts = [at + 2, *(comma + 1 for comma in commas)]
    return list(zip(starts, [*commas, end], strict=True)) if end > at + 2 else []


def name_problem(name: str) -> str | None:
    """Why a function cannot have a name; None where it can."""
    if not _NAME.match(name):
        return "a name is letters, digits and _, and does not begin with a digit"
    if name.lower() in SPARK_FUNCTIONS:
        return f"{name.lower()} is a function of Spark SQL"
    try:
        item = parse_statement(f"SELECT {name}(a, b)").tree.expressions[0]
    except QueryError:
        return f"{name} is a word of SQL"
    if not isinstance(item, exp.Anonymous) or item.name.lower() != name.lower():
        return f"{name} is a function or a word of SQL"
    return None
