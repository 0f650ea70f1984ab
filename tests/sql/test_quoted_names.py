"""Names in double quotes are strings in Spark SQL: worth a warning where a column is called so."""

from __future__ import annotations

import planner_fakes
import pytest

from fff.sql import prepare

CATALOG = planner_fakes.catalog(planner_fakes.table("w.Crime", "zip string", scans=1))
WARNING = '"{0}" is a string: Spark SQL quotes names in backticks; the column is `{0}`'


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ('SELECT "zip" FROM Crime', ["zip"]),
        ("SELECT zip FROM Crime WHERE \"Zip\" = '1'", ["Zip"]),
        ("SELECT 'zip' FROM Crime", []),
        ('SELECT zip FROM Crime WHERE zip = "94705"', []),
        ("SELECT `zip` FROM Crime", []),
    ],
)
def test_a_column_in_double_quotes_is_warned_of(sql: str, names: list[str]) -> None:
    assert list(prepare(sql, CATALOG).warnings) == [WARNING.format(name) for name in names]
