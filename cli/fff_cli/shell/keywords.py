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

#: Keywords that Spark also takes as names of columns, and many sources have columns called so.
_NAMES_TOO = frozenset(
    """
    array bigint binary boolean cube current date day decimal double filter first float hour int interval last map minute
    month nulls range row rows second semi sets smallint string struct timestamp tinyint view window year
    """.split()  # noqa: SIM905 - a list this long is read as text
)

#: Words that are no name where they stand bare.
RESERVED = frozenset(word.lower() for word in KEYWORDS) - _NAMES_TOO
