"""Tables read by key whose keys a subquery in WHERE finds; test_shapes.py holds the answers against Spark."""

from __future__ import annotations

import pytest
from planner_fakes import catalog, table

from fff.errors import InfeasibleQuery
from fff.sql import BlockQuery, prepare
from fff.sql.plan import Feed

CATALOG = catalog(
    table("x.part", "pk bigint, o bigint, pname string", lookups=("pk",)),
    table("x.two", "a bigint, b bigint, n string", lookups=("a,b",)),
    table("x.line", "pk bigint, o bigint, qty bigint", scans=1),
)


def fed(sql: str) -> list[object]:
    """What feeds the blocks that need keys: columns of earlier blocks by name, or the query that is run for them."""
    prepared = prepare(sql, CATALOG)
    return [
        feed.query.sql
        if feed.query is not None
        else [[name(prepared.blocks[block], at) for at in columns] for block, columns in fed_by(feed)]
        for block in prepared.blocks
        for feed in block.feeds
    ]


def fed_by(feed: Feed) -> list[tuple[int, list[int]]]:
    """The blocks that feed a block, and which columns of their output: as keys, or as the rows of a query that is a table."""
    branches = () if feed.rows is None else feed.rows.branches
    made = [(one.block, [value.index for value in one.values]) for one in branches]
    return [*((one.block, list(one.columns)) for one in feed.sources), *made]


def name(block: BlockQuery, at: int) -> str:
    return block.plan.field_of(block.plan.output[at]).name


@pytest.mark.parametrize(
    "where",
    [
        "pk IN (SELECT pk FROM line WHERE qty = 3)",
        "(pname > 'a' AND (pk IN (SELECT l.pk FROM line l)))",
        "EXISTS (SELECT 1 FROM line l WHERE l.pk = part.pk)",
        "EXISTS (SELECT 1 FROM line l JOIN line m ON l.pk = part.pk AND m.o = l.o)",
        "EXISTS (SELECT l.o FROM line l WHERE part.pk = l.pk GROUP BY l.o HAVING count(*) > 1)",
    ],
)
def test_the_key_comes_from_the_subquery(where: str) -> None:
    assert fed(f"SELECT pname FROM part WHERE {where}") == [[["pk"]]]
    assert fed(f"SELECT k FROM (SELECT pk AS k FROM part WHERE {where}) v")[0] == [["pk"]]


@pytest.mark.parametrize(
    ("join", "where"),
    [
        ("part LEFT SEMI JOIN line ON part.pk = line.pk", "pk IN (SELECT pk FROM line)"),
        ("part p SEMI JOIN line l USING (pk)", "pk IN (SELECT pk FROM line)"),
        ("part LEFT SEMI JOIN line l ON (l.pk = part.pk AND qty > 3)", "pk IN (SELECT pk FROM line WHERE qty > 3)"),
        ("part LEFT SEMI JOIN (SELECT pk FROM line LIMIT 9) l ON part.pk = l.pk", "pk IN (SELECT pk FROM (SELECT pk FROM line LIMIT 9) l)"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("rest", ["", "pname > 'a' OR pname = 'b'"])
def test_a_semi_join_finds_keys_as_in_does(join: str, where: str, rest: str) -> None:
    semi = prepare(f"SELECT pname FROM {join}" + (f" WHERE {rest} LIMIT 3" if rest else ""), CATALOG)
    plain = f"SELECT pname FROM part WHERE {where}" + (f" AND ({rest}) LIMIT 3" if rest else "")
    assert semi.upper is None
    assert fed(semi.sql) == fed(plain)


@pytest.mark.parametrize(
    "join",
    [
        "part LEFT ANTI JOIN line ON part.pk = line.pk",
        "part LEFT SEMI JOIN line ON part.pk = line.pk OR qty = 3",
        "line m RIGHT JOIN part ON m.o = part.o LEFT SEMI JOIN line l ON l.pk = part.pk",
    ],
)
def test_a_join_that_lets_other_rows_pass_finds_none(join: str) -> None:
    with pytest.raises(InfeasibleQuery, match="nothing binds pk"):
        prepare(f"SELECT pname FROM {join}", CATALOG)


@pytest.mark.parametrize(
    "where",
    [
        "(a, b) IN (SELECT pk, o FROM line)",
        "EXISTS (SELECT 1 FROM line WHERE pk = a AND o = b)",
        "a IN (SELECT pk FROM line WHERE o = b)",
    ],
)
def test_keys_of_several_columns_come_row_by_row(where: str) -> None:
    assert fed(f"SELECT n FROM two WHERE {where}") == [[["pk", "o"]]]


def test_every_branch_of_a_union_has_keys() -> None:
    sql = "SELECT pname FROM part WHERE pk IN (SELECT pk FROM line UNION SELECT o FROM line)"
    assert fed(sql) == [[["pk"], ["o"]]]


@pytest.mark.parametrize(
    ("table_and_key", "query"),
    [
        ("part WHERE pk", "SELECT max(pk) FROM line GROUP BY o"),
        ("part WHERE pk", "SELECT pk FROM line ORDER BY qty LIMIT 3"),
        ("two WHERE (a, b)", "SELECT max(pk), o FROM line GROUP BY o"),
    ],
)
def test_a_subquery_that_computes_keys_or_keeps_few_is_run_for_them(table_and_key: str, query: str) -> None:
    assert fed(f"SELECT 1 FROM {table_and_key} IN ({query})") == [
        query.replace("FROM line", "FROM __fff_1 AS line")
    ]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT max(pk) FROM line",
        "SELECT max(pk) + 1 FROM line WHERE qty > 3",
        "SELECT pk FROM line ORDER BY qty LIMIT 1",
    ],
)
def test_the_value_of_a_subquery_of_one_row_is_had_first(query: str) -> None:
    for where in (f"pk = ({query})", f"pname > 'a' AND (part.pk = ( {query}))"):
        assert [str(one).strip() for one in fed(f"SELECT 1 FROM part WHERE {where}")] == [
            query.replace("FROM line", "FROM __fff_1 AS line")
        ]


@pytest.mark.parametrize(
    "where",
    [
        "pk = (SELECT pk FROM line)",
        "pk = (SELECT max(pk) FROM line GROUP BY o)",
        "pk = (SELECT pk FROM line LIMIT 2)",
        "pk = (SELECT max(pk) FROM line) + 1",
        "pk > (SELECT max(pk) FROM line)",
        "NOT (pk = (SELECT max(pk) FROM line))",
        "(pk = (SELECT max(pk) FROM line) OR o = 1)",
        "pk = (SELECT max(pk) FROM line WHERE line.o = part.o)",
        "pk NOT IN (SELECT pk FROM line)",
        "NOT (pk IN (SELECT pk FROM line))",
        "NOT EXISTS (SELECT 1 FROM line l WHERE l.pk = part.pk)",
        "pk IN (SELECT pk FROM line) OR pname = 'x'",
        "EXISTS (SELECT 1 FROM line l WHERE l.pk = part.pk OR l.qty = 3)",
        "EXISTS (SELECT count(*) FROM line l WHERE l.pk = part.pk)",
        "EXISTS (SELECT 1 FROM line l WHERE l.pk = part.pk HAVING count(*) = 0)",
        "EXISTS (SELECT 1 FROM line l WHERE l.pk = part.pk GROUP BY GROUPING SETS ((l.o), ()))",
        "EXISTS (SELECT 1 FROM line k LEFT JOIN line l ON l.pk = part.pk)",
        "EXISTS (SELECT 1 FROM line k LEFT ANTI JOIN line l ON l.pk = part.pk)",
        "EXISTS (SELECT 1 FROM line l WHERE l.pk = part.pk UNION SELECT 1 FROM line)",
        "pk IN (SELECT pk FROM part)",
        "pk IN (SELECT CAST(pk AS string) FROM line WHERE o = part.o)",
    ],
)
def test_what_lets_other_rows_pass_binds_nothing(where: str) -> None:
    with pytest.raises(InfeasibleQuery, match="nothing binds pk"):
        prepare(f"SELECT pname FROM part WHERE {where}", CATALOG)


def test_a_column_of_either_side_gets_keys_from_both_or_none() -> None:
    few = "(SELECT pk FROM line ORDER BY qty LIMIT 1) d"
    sql = f"SELECT pk, pname FROM {few} FULL JOIN line USING (pk) LEFT JOIN part USING (pk)"
    assert fed(sql) == [[["pk"], ["pk"]]]


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        (
            "WITH RECURSIVE c AS (SELECT 1 AS b UNION ALL SELECT p.o FROM part p JOIN c ON p.pk = c.b) SELECT * FROM c",
            "a recursive query asks for keys step by step where",
        ),
        (
            "SELECT pname FROM line, LATERAL explode(array(o, qty)) e(x) JOIN part ON part.pk = e.x",
            "what LATERAL makes binds keys from a query of its own",
        ),
    ],
)
def test_what_can_be_done_instead_is_told(sql: str, hint: str) -> None:
    with pytest.raises(InfeasibleQuery, match="nothing binds pk") as refused:
        prepare(sql, CATALOG)
    assert hint in refused.value.render()


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT pk a, max(qty) b FROM line GROUP BY pk", (0, 1)),
        ("SELECT max(qty) b, pk a FROM line GROUP BY pk", (1, 0)),
        ("SELECT o b, pk * max(qty) a FROM line GROUP BY o, pk", (1, 0)),
        ("SELECT pk a, max(o) OVER (PARTITION BY pk) b FROM line", (0, 1)),
    ],
)
def test_a_key_column_that_is_passed_on_comes_beside_one_that_is_computed(
    query: str, columns: tuple[int, ...]
) -> None:
    for sql in (
        f"SELECT n FROM ({query}) q JOIN two USING (a, b)",
        f"SELECT n FROM ({query}) q LEFT JOIN two ON q.a = two.a AND two.b = q.b",
        f"SELECT n FROM two WHERE EXISTS (SELECT 1 FROM ({query}) q WHERE q.a = two.a AND q.b = two.b)",
    ):
        [feed] = [feed for block in prepare(sql, CATALOG).blocks for feed in block.feeds]
        assert feed.query is not None
        assert feed.query.columns == columns


def test_a_key_column_that_only_some_rows_have_comes_apart() -> None:
    query = "SELECT pk a, max(qty) b FROM line GROUP BY pk"
    sql = (
        f"SELECT n FROM ({query}) q FULL JOIN (SELECT pk a, o c FROM line) p USING (a) JOIN two USING (a, b)"
    )
    feeds = [feed for block in prepare(sql, CATALOG).blocks for feed in block.feeds]
    assert [feed.query is None for feed in feeds] == [False, True]
