"""Statements in the SQL of other systems, which the parser reads and Spark refuses, and such as it takes."""

from __future__ import annotations

#: Statements, and what is underlined in them.
REFUSED = [
    ("SELECT id FROM t LIMIT 50 PERCENT", "LIMIT 50 PERCENT"),
    ("SELECT id FROM t LIMIT 50 %", "LIMIT 50 %"),
    ("SELECT id FROM t LIMIT 2 WITH TIES", "LIMIT 2 WITH TIES"),
    ("SELECT id FROM t LIMIT 2 BY k", "LIMIT 2 BY k"),
    ("SELECT id FROM t LIMIT 2 ROWS", "LIMIT 2 ROWS"),
    ("SELECT id FROM t LIMIT 2 ONLY", "LIMIT 2 ONLY"),
    ("SELECT id FROM t LIMIT 2 OFFSET 2 ROWS", "OFFSET 2 ROWS"),
    ("SELECT id FROM t LIMIT 1, 2", "LIMIT 1, 2"),
    ("SELECT DISTINCT ON (k) id FROM t", "DISTINCT ON"),
    ("SELECT DISTINCT ON (k, s) id, k FROM t ORDER BY k", "DISTINCT ON"),
    ("SELECT id FROM t WITH (NOLOCK)", "WITH (NOLOCK)"),
    ("SELECT q.id FROM t q WITH (NOLOCK, READPAST) WHERE q.id > 1", "WITH (NOLOCK, READPAST)"),
    ("SELECT q.id FROM (SELECT id FROM t LIMIT 2 ROWS) AS q", "LIMIT 2 ROWS"),
    ("FROM t |> LIMIT 2 ROWS", "LIMIT 2 ROWS"),
    ("SELECT CAST(k AS INT8) FROM t", "INT8"),
    ("SELECT k::int64 FROM t", "int64"),
    *(
        (f"SELECT TRY_CAST(s AS {kind}) FROM t", kind)
        for kind in (
            *(
                "TEXT",
                "BOOL",
                "BIT",
                "UUID",
                "NUMBER",
                "INT2",
                "INT32",
                "FLOAT4",
                "FLOAT8",
                "FLOAT(5)",
                "JSON",
            ),
            *("DOUBLE PRECISION", "VARCHAR", "CHARACTER", "CHAR VARYING", "NVARCHAR", "BLOB", "VARBINARY"),
            *(
                "DATETIME",
                "TIMESTAMPTZ",
                "TIMESTAMP WITH TIME ZONE",
                "INT UNSIGNED",
                "INT[]",
                "DATE(3)",
                "`int`",
            ),
        )
    ),
    ("SELECT CAST(NULL AS ARRAY<TEXT>), id FROM t", "TEXT"),
    ("SELECT CAST(NULL AS STRUCT<a: INT, b: INT8>), id FROM t", "INT8"),
    ("SELECT CAST(NULL AS MAP<STRING, BOOL>), id FROM t", "BOOL"),
    ("SELECT INT '5', id FROM t", "INT"),
    ("SELECT id FROM t WHERE s = TEXT 'a'", "TEXT"),
    ("SELECT TIMESTAMP WITHOUT TIME ZONE '2020-01-01', id FROM t", "TIMESTAMP WITHOUT TIME ZONE"),
    *(
        (f"SELECT {call}, id FROM t", call[: call.index("(")])
        for call in (
            *(
                "strpos(s, 'a')",
                "charindex('a', s)",
                "safe_divide(k, 2)",
                "safe_add(k, 1)",
                "iif(k > 1, 1, 2)",
            ),
            *("decode_case(k, 1, 2)", "starts_with(s, 'a')", "ends_with(s, 'a')", "array_length(array(k))"),
            *("array_has(array(k), 1)", "array_filter(array(k), x -> x > 1)", "to_hex(s)", "to_base64(s)"),
            *(
                "is_nan(d)",
                "get_bit(k, 1)",
                "date_to_date_str(dt)",
                "ts_or_ds_to_date(dt)",
                "day_of_week(dt)",
            ),
            *("str_to_unix(s)", "timestamp_trunc(dt, MONTH)", "regexp_split(s, 'a')", "safe_cast(s AS INT)"),
        )
    ),
    ("SELECT id FROM t WHERE starts_with(s, 'a')", "starts_with"),
    ("SELECT rlike(s, 'A', 'i') FROM t", "rlike"),
    ("SELECT regexp(s, 'A', 'i') FROM t", "regexp"),
    ("SELECT like(s, 'a', '/', 'b') FROM t", "like"),
    ("SELECT id FROM t WHERE NOT ilike(s, 'a', '/', 'b')", "ilike"),
    ("SELECT 2 * div(k, 2, 3) FROM t", "div"),
    ("SELECT id FROM t WHERE and(k > 1)", "and"),
    ("SELECT or(k > 1, k < 5, k = 3) FROM t", "or"),
    ("SELECT CASE WHEN or(k > 1) THEN 1 END FROM t", "or"),
    ("SELECT extract(YEAR, dt) FROM t", "YEAR,"),
    ("SELECT extract('YEAR' FROM dt) FROM t", "'YEAR' FROM"),
]
TAKEN = [
    "SELECT id FROM t ORDER BY id LIMIT 2 OFFSET 1",
    "SELECT id FROM t LIMIT ALL OFFSET 1",
    "FROM t |> OFFSET 1 LIMIT 2",
    "FROM t |> LIMIT 2 OFFSET 1 |> OFFSET 1 |> LIMIT 1",
    "SELECT k::LONG, k::DEC(12, 2), k::NUMERIC, k::REAL, k::SHORT, k::BYTE, k::INTEGER, s::VARCHAR(3), s::CHARACTER(3) FROM t",
    "SELECT CAST(dt AS TIMESTAMP WITHOUT TIME ZONE), CAST(dt AS TIMESTAMP WITH LOCAL TIME ZONE), dt::TIMESTAMP_LTZ FROM t",
    "SELECT CAST(NULL AS ARRAY<BIGINT>), CAST(NULL AS STRUCT<a: INT NOT NULL, b STRING>), CAST(NULL AS MAP<STRING, INT>) FROM t",
    "SELECT CAST(s AS STRING COLLATE UTF8_LCASE), s::STRING COLLATE UNICODE FROM t",
    "SELECT count(*) FROM t GROUP BY CAST(s AS STRING COLLATE UTF8_LCASE)",
    "SELECT DATE '2020-01-01', TIMESTAMP_LTZ '2020-01-01', X'41', 5L, -5S, 5BD, 1.5F, INTERVAL 1 DAY, k::INTERVAL DAY FROM t",
    "SELECT id text, k AS uuid FROM t bool",
    "SELECT q.iif FROM (SELECT id AS x FROM t) AS q(iif)",
    "SELECT or(k > 1, k < 5), and(k > 1, k < 5), div(k, 2), like(s, 'a'), like(s, 'a', '/'), rlike(s, 'a') FROM t",
    "SELECT s LIKE ('a'), s NOT LIKE ('a'), k DIV (2), k > 1 AND (k < 5) OR (k = 3) FROM t WHERE NOT (k > 1) AND (s RLIKE ('a'))",
    "SELECT extract('YEAR', dt), extract(YEAR FROM dt), date_part('YEAR', dt), `upper`(s) FROM t",
    "SELECT date_diff(DAY, dt, dt), dateadd(DAY, 1, dt), timestampdiff(DAY, dt, dt), timediff(DAY, dt, dt), try_cast(s AS INT) FROM t",
]
