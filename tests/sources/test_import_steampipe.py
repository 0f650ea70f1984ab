"""Tables of a Steampipe plugin, hand-made in Go: read as drafts that nothing is asked of before they are written."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

import fff
from fff.errors import FFFError, QueryError, UsageError
from fff_sources.importing.counting import count_folder
from fff_sources.importing.documents import read_file
from fff_sources.importing.translate import Imported, import_document
from fff_sources.load import lint
from tests.web.serving import Serve

PLUGIN = """
package desk

import "github.com/turbot/steampipe-plugin-sdk/v5/plugin"

const labelAbout = "What it is " + `called`

func Plugin(ctx context.Context) *plugin.Plugin {
	return &plugin.Plugin{
		Name: "steampipe-plugin-desk",
		TableMap: map[string]*plugin.Table{"desk_ticket": tableTicket(ctx)},
	}
}

// Table: &plugin.Table{Name: "desk_comment"} is a comment.
func tableTicket(_ context.Context) *plugin.Table {
	return &plugin.Table{
		Name:        "desk_ticket",
		Description: "Tickets, \\"open\\" or not.",
		List: &plugin.ListConfig{
			Hydrate: listTickets,
			KeyColumns: plugin.KeyColumnSlice{
				{Name: "team", Require: plugin.Required},
				{Name: "changed", Require: plugin.Optional, Operators: []string{">", ">=", "<>", "~~*"}},
			},
		},
		Get: &plugin.GetConfig{KeyColumns: plugin.SingleColumn("id"), Hydrate: getTicket},
		Columns: commonColumns(append(ticketColumns(), &plugin.Column{Name: "late", Type: proto.ColumnType_BOOL})),
	}
}

func ticketColumns() []*plugin.Column {
	cols := []*plugin.Column{
		{Name: "id", Type: proto.ColumnType_INT, Transform: transform.FromField("ID"), Description: labelAbout},
		{Name: "owner_mail", Type: proto.ColumnType_STRING, Transform: transform.FromField("Owner.Mail").NullIfZero()},
		{Name: "changed", Type: proto.ColumnType_TIMESTAMP, Transform: transform.FromField("Changed").Transform(transform.UnixToTimestamp)},
		{Name: "hours", Type: proto.ColumnType_DOUBLE, Transform: transform.FromJSONTag()},
	}
	cols = append(cols, []*plugin.Column{
		{Name: "labels", Type: proto.ColumnType_JSON, Hydrate: getLabels, Transform: transform.FromValue()},
	}...)
	return cols
}

func commonColumns(columns []*plugin.Column) []*plugin.Column {
	return append([]*plugin.Column{
		{Name: "team", Type: proto.ColumnType_STRING, Transform: transform.FromQual("team")},
	}, columns...)
}

func tablePerson() *plugin.Table {
	return &plugin.Table{
		Name: "desk_person",
		List: &plugin.ListConfig{Hydrate: listPeople},
		Get: &plugin.GetConfig{KeyColumns: plugin.AnyColumn([]string{"id", "mail"}), Hydrate: getPerson},
		Columns: []*plugin.Column{
			{Name: "id", Type: proto.ColumnType_STRING},
			{Name: "mail", Type: proto.ColumnType_STRING},
			{Name: fmt.Sprintf("x_%s", y), Type: proto.ColumnType_STRING},
		},
	}
}

func tableMade(name string) *plugin.Table {
	return &plugin.Table{Name: name, List: &plugin.ListConfig{Hydrate: listMade}, Columns: makeColumns(name)}
}

func tableAway() *plugin.Table {
	return &plugin.Table{Name: "desk_away", List: &plugin.ListConfig{Hydrate: x}, Columns: elsewhere.Columns()}
}
"""


def read(text: str = PLUGIN) -> Imported:
    return import_document(text, "desk.go", shown="desk.go")


def test_tables_are_drafted_and_told() -> None:
    found = read()
    source = yaml.safe_load(found.text)["sources"]["desk"]
    ticket, person = source["tables"]["ticket"], source["tables"]["person"]
    assert ticket["description"] == 'Tickets, "open" or not.'
    assert list(ticket["columns"].items()) == [
        ("team", "string"),
        ("id", "bigint"),
        ("owner_mail", {"type": "string", "path": "Owner.Mail"}),
        ("changed", "timestamp"),
        ("hours", "double"),
        ("labels", "string"),
        ("late", "boolean"),
    ]
    assert ticket["key_columns"] == [
        {"name": "team", "require": "required", "operators": ["="]},
        {"name": "changed", "require": "optional", "operators": [">", ">=", "!="]},
    ]
    assert [one["keys"] for one in ticket["lookups"]] == [["id"]]
    assert [one["keys"] for one in person["lookups"]] == [["id"], ["mail"]]
    for table in (ticket, person):
        assert "data_selector" in table["unfinished"]
        assert table["exhaustive"] is False
    report = found.report
    told = {(one.table, one.field): (one.outcome, one.note, one.incomplete) for one in report.notes}
    assert told["desk_ticket", "endpoint"][::2] == ("dropped", True)
    assert told["desk_ticket", "column hours"] == ("translated", "", False)
    assert told["desk_ticket", "column changed"] == ("approximated", "then Transform", False)
    assert told["desk_ticket", "column labels"][1].startswith("of a call of its own: getLabels")
    assert told["desk_ticket", "List key changed"][:2] == ("approximated", "without the operators ~~*")
    assert told["desk_person", "columns"][:2] == ("dropped", "one whose name is computed")
    assert report.left_out == {
        "table 3": "its name is computed",
        "desk_away": "no column of it can be read",
    }
    assert told["desk_away", "columns"][1].startswith("those of elsewhere.Columns(…)")


async def test_a_draft_is_described_and_never_asked(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.json_response({"people": [{"id": "a", "mail": "a@x.org"}, {"id": "b", "mail": None}]})

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DESK_BASE_URL", (await serve(answer)).url)
    spec: Any = yaml.safe_load(read().text)
    person = spec["sources"]["desk"]["tables"]["person"]
    for columns in (person["columns"], None):  # none are inferred, either
        person["columns"] = columns
        person["lookups"] = person["lookups"] if columns else []
        (tmp_path / "fff.yaml").write_text(yaml.safe_dump(spec))
        async with fff.connect_async("fff.yaml") as federation:
            with pytest.raises(QueryError, match="person is a draft") as error:
                await federation.sql("SELECT 1 FROM VALUES (1) v(k) JOIN desk.person ON person.id = v.k")
            assert error.value.span is not None
            assert "data_selector" in (error.value.hint or "")
            described = await federation.sql("DESCRIBE desk.ticket")
            assert len(list(described.rows())) == 7
    problems = [one for one in lint(Path("fff.yaml")) if (one.path or "").endswith(".unfinished")]
    assert [one.path for one in problems] == [
        f"sources.desk.tables.{name}.unfinished" for name in ("person", "ticket")
    ]
    assert asked == []
    del person["unfinished"], person["exhaustive"]
    person |= {"columns": {"id": "string", "mail": "string"}}
    person["scan"] = {"endpoint": {"path": "people", "data_selector": "people"}}
    (tmp_path / "fff.yaml").write_text(yaml.safe_dump(spec))
    async with fff.connect_async("fff.yaml") as federation:
        answered = await federation.sql("SELECT id FROM desk.person")
        assert (sorted(answered.rows()), answered.complete) == ([("a",), ("b",)], True)


def test_a_folder_is_read_as_one_plugin_and_counted(tmp_path: Path) -> None:
    head, middle, end = PLUGIN.partition("func ticketColumns")
    (tmp_path / "a.go").write_text(head)
    (tmp_path / "b.go").write_text("package desk\n" + middle + end)
    (tmp_path / "b_test.go").write_text('var t = &plugin.Table{Name: "desk_test"}')
    (tmp_path / "c.yaml").write_text("a: 1")
    (tmp_path / "readme").mkdir()
    with pytest.raises(UsageError, match="without Go files"):
        read_file(tmp_path / "readme")
    assert read(read_file(tmp_path)).text == read().text
    lines = [" ".join(line.split()) for line in count_folder(tmp_path, "steampipe")]
    assert lines == [
        "steampipe",
        "1 documents",
        "4 tables",
        "2 tables drafted, their requests to be written",
        "3 columns approximated",
        "6 columns translated",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("package main\nfunc main() {}", "no plugin.Table is declared"),
        ('var t = &plugin.Table{Name: "x"', "no column of it"),
        ("var t = &plugin.Table" + "{Columns: f(" * 5000, "its name is computed"),
        (
            'var t = &plugin.Table{Name: "x", Columns: f0()}\n'
            + "".join(
                f"func f{n}() []*plugin.Column {{ return append(f{n + 1}(), f{n + 1}()...) }}\n"
                for n in range(60)
            ),
            "too many steps",
        ),
        (
            'func f() []plugin.Column { return f() }\nvar t = &plugin.Table{Name: "x", Columns: f()}',
            "no column",
        ),
    ],
)
def test_odd_go_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(text)


def test_broken_go_ends_in_a_spec_or_in_one_of_our_errors() -> None:
    drafted = 0
    for seed in range(60):
        dice = random.Random(seed)
        text = PLUGIN
        for _ in range(dice.randrange(1, 4)):
            at = dice.randrange(len(text))
            text = (
                text[:at]
                + dice.choice(['"', "`", "{", "}", "(", ")", "/*", "func ", "", ","])
                + text[at + 3 :]
            )
        try:
            found = read(text)
        except FFFError:
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}: {text}") from error
        drafted += 1
        assert all(table.unfinished for draft in found.drafts for table in draft.tables)
    assert drafted > 20
