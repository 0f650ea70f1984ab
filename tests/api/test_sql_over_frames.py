"""`fff.sql`: frames in braces are tables of a statement, and nothing else is put into its text."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fff
from fff.frames.statement import with_tables
from tests.api.conftest import Publish
from tests.api.sites import TABLES, site

KEYS = {"k": [0, 3, 3, 99]}
JOIN = "SELECT d.k, s.b FROM {df} d JOIN web.s ON s.a = d.k"


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame])
def test_a_frame_in_braces_binds_keys(publish: Publish, make: Any) -> None:
    served = site()
    result = fff.sql(JOIN, sources=[publish(served, TABLES)], df=make(KEYS))
    assert result.complete
    assert sorted(result) == [(0, 0), (3, 30), (3, 30)]
    assert served.keys == {("s", "a", "0"): 1, ("s", "a", "3"): 1, ("s", "a", "99"): 1}


def test_several_frames_parameters_and_options(publish: Publish) -> None:
    spec = publish(site(), TABLES)
    text = "SELECT x.k FROM {one} x JOIN {Two} y ON x.k = y.k WHERE x.k > :least -- {three}"
    result = fff.sql(text, {"least": 1}, sources=[spec], one=pa.table(KEYS), Two=pa.table({"k": [0, 3]}))
    assert sorted(result) == [(3,), (3,)]
    two = fff.sql(
        JOIN, sources=[spec], options={"max_requests": 1, "on_source_error": "partial"}, df=pa.table(KEYS)
    )
    assert not two.complete


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELECT '{df}', \"{df}\", `{df}` /* {df} */ FROM { df }", "SELECT '{df}', \"{df}\", `{df}` /* {df} */ FROM python.df"),
        ("SELECT 1 FROM {df} a, {df} b", "SELECT 1 FROM python.df a, python.df b"),
    ],
)  # fmt: skip
def test_only_names_in_braces_are_changed(text: str, told: str) -> None:
    assert with_tables(text, {"df": None}) == told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 1 FROM {other}", "other is no frame"),
        ("SELECT 1 FROM {df} WHERE k = {df.k}", "braces hold the name of a frame"),
        ("SELECT 1 FROM {df} WHERE k = {1}", "braces hold the name of a frame"),
        ("SELECT 1 FROM {df} WHERE k = {", "braces hold the name of a frame"),
        ("SELECT 1", "does not name {df}"),
    ],
)
def test_what_braces_cannot_hold(text: str, message: str) -> None:
    with pytest.raises(fff.QueryError, match=message):
        fff.sql(text, df=pa.table(KEYS))


def test_no_frame(publish: Publish) -> None:
    with pytest.raises(fff.UsageError, match="int is no frame"):
        fff.sql("SELECT 1 FROM {df}", sources=[publish(site(), TABLES)], df=7)


@pytest.mark.slow
def test_sql_is_called_before_anything_of_its_package_was_imported() -> None:
    program = "import fff, pyarrow; print(len(fff.sql('SELECT k FROM {t}', t=pyarrow.table({'k': [1]}))))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "1\n", done.stderr
