"""What notebooks and other tools of data get: HTML, streams of Arrow, polars."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pyarrow as pa
import pytest

import fff
from fff.display.html import html_table, safe_text
from tests.api.conftest import Publish
from tests.api.sites import JOIN, ROWS, TABLES, site
from tests.engine.site import Site, access

EVIL = "<script>alert('x')</script>\x1b[31m\u202e"


@pytest.fixture
def spec(publish: Publish) -> Path:
    tables = TABLES | {"t": access("t", {"a": "int", "c": "string"}) | {"description": EVIL[:8]}}
    return publish(Site(site().tables | {"t": (("a", "c"), [(0, EVIL), (1, None), (2, "NULL")])}), tables)


def test_a_notebook_shows_values_as_text(spec: Path) -> None:
    with fff.connect(spec) as federation:
        shown = federation.sql("SELECT a AS `<b>`, c FROM t")._repr_html_()
        many = federation.sql("SELECT a, b FROM web.r", seed=1)
        part = federation.sql("SELECT a, b FROM web.r", max_requests=1)
        tables = federation._repr_html_()
    assert "<script" not in shown
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;\ufffd[31m\ufffd" in shown
    assert "<th>&lt;b&gt;</th>" in shown
    assert "<td><em>NULL</em></td>" in shown  # and no text of that word looks like it
    assert "<td>NULL</td>" in shown
    assert "<p>3 rows</p>" in shown
    assert many._repr_html_().count("<tr>") == 41
    assert "<p>45 rows (40 shown)</p>" in many._repr_html_()
    assert "incomplete: " in part._repr_html_()
    assert "<td>web.r</td><td>a, b</td>" in tables
    assert "3 tables" in tables
    assert "<script" not in tables


def test_wide_tables_say_what_is_hidden() -> None:
    text = html_table([f"c{n}" for n in range(100)], [range(100)], "1 row")
    assert (text.count("<th>"), text.count("<td>")) == (60, 60)
    assert "<p>1 row; 40 columns not shown</p>" in text
    assert safe_text("x" * 50, 10) == "x" * 9 + "…"


def test_a_snapshot_shows_what_its_sources_do(spec: Path) -> None:
    with fff.connect(spec) as federation:
        for snapshot in federation.stream(JOIN):
            shown = snapshot._repr_html_()
    assert "<td>web.r</td>" in shown
    assert "<p>done, " in shown
    assert "40 of 45 rows" in shown or "45 of 45 rows" in shown or "of 45 rows" in shown


def test_rows_are_fetched_as_from_a_cursor(spec: Path) -> None:
    with fff.connect(spec) as federation:
        result = federation.sql(JOIN)
    assert result.columns == ["a", "b"]
    first, two = result.fetchone(), result.fetchmany(2)
    rest = result.fetchall()
    assert [first, *two, *rest] == result.rows()  # which is not used up
    assert (result.fetchone(), result.fetchmany(3), result.fetchall()) == (None, [], [])
    assert len(result.rows()) == len(ROWS)


def test_tools_take_a_result_as_a_stream_of_arrow(spec: Path) -> None:
    with fff.connect(spec) as federation:
        result = federation.sql("SELECT a, c FROM t")
        assert pa.table(result) == result.to_arrow()
        duckdb = pytest.importorskip("duckdb")
        assert duckdb.sql("SELECT sum(a) FROM result").fetchall() == [(3,)]
        federation.register_table("again", result)
        assert sorted(federation.sql("SELECT a FROM again").rows()) == [(0,), (1,), (2,)]


def test_polars_takes_it(spec: Path) -> None:
    polars = pytest.importorskip("polars")
    with fff.connect(spec) as federation:
        result = federation.sql("SELECT a, c FROM t WHERE a < 2")
    assert result.to_polars().sort("a").rows() == [(0, EVIL), (1, None)]
    assert polars.DataFrame(result).shape == (2, 2)


def test_a_notebook_shows_errors_without_what_is_inside(spec: Path) -> None:
    cell = "def ask(federation):\n    return federation.sql('SELECT nothing FROM t')\nask(federation)\n"
    with fff.connect(spec) as federation, pytest.raises(fff.QueryError) as caught:
        exec(compile(cell, "<cell>", "exec"), {"federation": federation})
    *calls, told = caught.value._render_traceback_()
    assert [call.partition(":")[0] for call in calls[-2:]] == ["line 3, in <module>", "line 2, in ask"]
    assert len(calls) == 3, "and the line of this test"
    assert told == f"QueryError: {caught.value}"
    assert "unknown column nothing" in told


def test_without_polars_it_says_so(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with fff.connect(spec) as federation:
        result = federation.sql("SELECT a FROM t")
    with pytest.raises(fff.UsageError, match=r"polars is not installed\n  pip install"):
        result.to_polars()


def test_show_outside_of_notebooks_prints(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fff.show("SELECT a FROM t WHERE a = :a", {"a": 1}, sources=[spec])
    assert capsys.readouterr().out == "a\n1\n1 row\n"


def test_show_in_a_notebook_is_live(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[object] = []
    place = types.SimpleNamespace(update=shown.append)

    def display(what: object, *, display_id: bool) -> object:
        assert display_id
        shown.append(what)
        return place

    shell = types.SimpleNamespace(kernel=object())
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    displays = types.ModuleType("IPython.display")
    displays.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", displays)
    with fff.connect(spec) as federation:
        federation.show(JOIN, interval=0.001)
    assert isinstance(shown[0], fff.Snapshot)
    assert isinstance(shown[-1], fff.Result)
    assert len(shown[-1]) == len(ROWS)
    assert all(one.phase != "done" for one in shown[1:-1])
