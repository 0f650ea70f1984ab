"""Words of Spark SQL that completion offers: those of queries, since the shell runs nothing else."""

from __future__ import annotations

KEYWORDS = tuple(
    """
    SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET DISTINCT ALL AS ON USING JOIN INNER LEFT RIGHT FULL OUTER CROSS
    SEMI ANTI NATURAL LATERAL VIEW AND OR NOT IN EXISTS BETWEEN LIKE ILIKE RLIKE ESCAPE IS NULL TRUE FALSE CASE WHEN THEN
    ELSE END CAST INTERVAL DATE TIMESTAMP UNION INTERSECT EXCEPT MINUS WITH VALUES EXPLAIN ASC DESC NULLS FIRST LAST OVER
    PARTITION WINDOW ROWS RANGE PRECEDING FOLLOWING CURRENT ROW UNBOUNDED ROLLUP CUBE GROUPING SETS FILTER WITHIN PIVOT
    UNPIVOT QUALIFY TABLESAMPLE FOR STRING INT BIGINT SMALLINT TINYINT DOUBLE FLOAT DECIMAL BOOLEAN BINARY ARRAY MAP STRUCT
    YEAR MONTH DAY HOUR MINUTE SECOND
    """.split()  # noqa: SIM905 - a list this long is read as text
)

FUNCTIONS = tuple(
    """
    abs acos add_months aggregate any any_value approx_count_distinct approx_percentile array array_agg array_contains
    array_distinct array_join array_max array_min array_position array_remove array_size array_sort arrays_overlap
    arrays_zip ascii asin atan atan2 avg base64 bin bit_and bit_or bool_and bool_or bround cardinality cbrt ceil char_length
    chr coalesce collect_list collect_set concat concat_ws conv corr cos count count_if covar_pop covar_samp cume_dist
    current_date current_timestamp date_add date_diff date_format date_part date_sub date_trunc datediff day dayofmonth
    dayofweek dayofyear decode degrees dense_rank element_at encode endswith every exp explode explode_outer extract
    filter first first_value flatten floor format_number format_string from_json from_unixtime from_utc_timestamp
    get_json_object greatest grouping grouping_id hash hex hour if ifnull initcap inline instr isnan isnotnull isnull
    json_array_length json_tuple kurtosis lag last last_day last_value lcase lead least left length levenshtein listagg ln
    locate log log10 log2 lower lpad ltrim make_date make_timestamp map map_entries map_from_arrays map_keys map_values max
    max_by md5 mean median min min_by minute mod mode month months_between named_struct next_day now nth_value ntile nullif
    nvl nvl2 parse_url percent_rank percentile percentile_approx pi posexplode position pow power quarter radians rand rank
    regexp_count regexp_extract regexp_extract_all regexp_like regexp_replace regexp_substr repeat replace reverse right
    rint round row_number rpad rtrim second sequence sha1 sha2 shuffle sign sin size skewness slice some sort_array soundex
    split split_part sqrt stack startswith std stddev stddev_pop stddev_samp string_agg struct substr substring
    substring_index sum tan timestamp_millis timestamp_seconds to_char to_date to_json to_number to_timestamp
    to_utc_timestamp transform translate trim trunc try_avg try_cast try_divide try_sum try_to_number try_to_timestamp
    typeof ucase unbase64 unhex unix_timestamp upper uuid var_pop var_samp variance weekday weekofyear width_bucket xxhash64
    year zip_with
    """.split()  # noqa: SIM905 - a list this long is read as text
)

#: Keywords that Spark also takes as names of columns, and many sources have columns called so.
_NAMES_TOO = frozenset(
    """
    array bigint binary boolean cube current date day decimal double filter first float hour int interval last map minute
    month nulls range row rows second semi sets smallint string struct timestamp tinyint view window year
    """.split()  # noqa: SIM905 - a list this long is read as text
)

#: Words that are no name where they stand bare.
RESERVED = frozenset(word.lower() for word in KEYWORDS) - _NAMES_TOO
