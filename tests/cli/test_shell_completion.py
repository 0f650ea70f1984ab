"""What the Tab key offers; `|` is the cursor."""

from __future__ import annotations

import pytest

from fff.catalog import Catalog, Table
from fff.schema import Field
from fff.sql.syntax.spark_functions import SPARK_FUNCTIONS
from fff_cli.shell.commands import ARGUMENTS
from fff_cli.shell.completion import suggestions


class Source:
    def __init__(self, name, **tables):
        self.name = name
        self.tables = [
            Table(name, table, tuple(Field.of(column, "string") for column in columns.split()))
            for table, columns in tables.items()
        ]


def catalog():
    built = Catalog()
    built.add(Source("demo", FEC="id zip State contribution", Crime="zip crimeRating year"))
    built.add(Source("gov", Crime="zip cases", **{"odd name": "group a`b", "late": ""}))
    return built


def offered(marked):
    cursor = marked.index("|")
    text = marked.replace("|", "")
    found = list(suggestions(text, cursor, catalog(), ARGUMENTS))
    assert all(0 <= one.start <= cursor for one in found)
    return [text[: one.start] + one.text for one in found]


def words(marked):
    """The words offered, without what stands before them."""
    return [one.text for one in suggestions(marked.replace("|", ""), marked.index("|"), catalog(), ARGUMENTS)]


@pytest.mark.parametrize(
    ("marked", "first"),
    [
        ("select | from FEC", ["id", "zip", "State", "contribution", "FEC"]),
        ("select | from demo.Crime c", ["zip", "crimeRating", "year", "c"]),
        ("select c| from FEC f join demo.Crime c", ["contribution", "crimeRating", "c"]),
        ("select f.| from FEC f join demo.Crime c", ["id", "zip", "State", "contribution"]),
        ("select f.c| from FEC as f", ["contribution"]),
        ("select FEC.c| from FEC", ["contribution"]),
        ("select C| from FEC, gov.Crime x where x.zip = FEC.zip", ["contribution", "cases"]),
        ("select x.| from FEC, gov.Crime x", ["zip", "cases"]),
        ("select * from demo.|", ["FEC", "Crime"]),
        ("select * from F|", ["FEC"]),
        ("select * from FEC f, c|", []),
        ("select * from FEC where z|", ["zip"]),
        ("select * from FEC; select z| from gov.Crime", ["zip"]),
        ("select (select max(c|) from gov.Crime)", ["cases"]),
        ("with t as (select * from FEC) select S| from t", ["State"]),
        ("select zip from FEC group b|", ["by"]),
        ("SELECT zip FROM FEC GROUP B|", ["BY"]),
        ("explain select crimeR| from demo.Crime", ["crimeRating"]),
        ("\\explain select contr| from FEC", ["contribution"]),
        ("\\t|", ["\\timing"]),
        ("\\o nd|", ["ndjson"]),
        ("\\policy r|", ["rank"]),
        ("\\timing o|", ["on", "off"]),
        ("\\set pre|", ["prefer"]),
        ("\\set prefer |", ["fast", "balanced", "cheap"]),
    ],
)
def test_best_first(marked, first):
    assert words(marked)[: len(first)] == first


def test_nothing_inside_strings_and_comments_nor_of_other_statements():
    assert offered("select 'z|") == []
    assert offered("select 1 -- z|") == []
    assert offered("select /* z|") == []
    assert offered("select 'z' -- c\n, z| from FEC") != []
    assert "cases" not in words("select c| from FEC; select 1 from gov.Crime")
    assert offered("select FEC.z| from gov.Crime") == ["select FEC.zip"]


def test_tables_go_by_their_own_name_where_it_is_enough():
    names = words("select * from |")
    assert "FEC" in names
    assert "Crime" not in names
    assert {"demo.Crime", "gov.Crime", "demo.FEC"} <= set(names)
    assert "SELECT" not in names


def test_names_that_are_no_words_are_quoted():
    assert offered("select gr| from `odd name`")[0] == "select `group`"
    assert offered("select `a| from gov.`odd name`") == ["select `a``b`"]
    assert offered("select * from gov.`o|") == ["select * from gov.`odd name`"]
    assert words("select y| from demo.Crime")[0] == "year"


def test_the_case_of_words_follows_what_is_typed():
    assert "sum" in words("select su| from FEC")
    assert "SUM" in words("select SU| from FEC")
    assert "where" in words("select zip from FEC wh|")


def test_every_function_that_spark_has_is_offered_once():
    for name in SPARK_FUNCTIONS:
        assert words(f"select {name}| from FEC").count(name) == 1


def test_columns_of_every_table_before_any_is_named():
    assert words("select cr|")[:1] == ["crimeRating"]
    assert words("cr|")[0] == "cross"
    assert "SELECT" in words("|")


def test_a_column_of_several_tables_is_offered_once_and_says_so():
    found = [
        one
        for one in suggestions("select z from FEC, demo.Crime", 8, catalog(), ARGUMENTS)
        if one.text == "zip"
    ]
    assert [one.note for one in found] == ["in several tables"]


def test_files(tmp_path, monkeypatch):
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries" / "one.sql").touch()
    (tmp_path / ".hidden").touch()
    monkeypatch.chdir(tmp_path)
    assert offered("\\i |") == ["\\i queries/"]
    assert offered("\\i queries/o|") == ["\\i queries/one.sql"]
    assert offered("\\i nowhere/|") == []
    assert offered("\\o csv q|") == ["\\o csv queries/"]
    assert offered("\\d F|") == ["\\d FEC"]
    assert offered("\\d demo.F|") == ["\\d demo.FEC"]
    assert offered("\\nonsense x|") == []
