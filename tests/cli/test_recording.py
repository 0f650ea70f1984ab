"""`--record` and `--replay`: the same answer from a folder, with the site switched off, and no secret in it."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from fff.web.recording import about, read_index
from fff_cli.commands.query import run_query
from fff_cli.options.arguments import QueryArguments
from tests.engine.site import Site, access
from tests.web.serving import serving_beside

SECRET = "s3cr/et key"
SQL = "SELECT r.id, s.y FROM r JOIN s ON r.x = s.x WHERE r.id < 25"
R = [(number, f"k{number % 7}") for number in range(40)]
S = [(f"k{number}", number * 10) for number in range(7)]
EXPECTED = sorted(f"{number},{number % 7 * 10}" for number in range(25))


def spec(url: str, folder: Path) -> Path:
    client = {
        "base_url": url,
        "auth": {"type": "api_key", "name": "code", "api_key": "${env:KEY}", "location": "query"},
        "headers": {"X-Team": "${env:KEY}"},
        "retry": {"max_attempts": 3, "base_delay": 0.001, "max_delay": 0.001},
    }
    tables = {
        "r": access("r", {"id": "int", "x": "string"}),
        "s": access("s", {"x": "string", "y": "int"}, scan=False, lookups=["x"]),
    }
    file = folder / "fff.yaml"
    file.write_text(yaml.safe_dump({"version": 1, "sources": {"web": {"client": client, "tables": tables}}}))
    return file


class Answering:
    """A site in a thread of its own. Its answers repeat the secret they were asked with; one key fails at first."""

    def __init__(self) -> None:
        self.tables = Site({"r": (("id", "x"), R), "s": (("x", "y"), S)})
        self.asked = 0
        self.failed = False

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked += 1
        if "k3" in request.path and not self.failed:
            self.failed = True
            return web.json_response({"error": request.query["code"]}, status=503)
        given = await self.tables.answer(request)
        given.headers["X-Asked"] = f"{request.url} {request.headers['X-Team']}"
        return given

    def serving(self) -> contextlib.AbstractContextManager[str]:
        """The URL; the site is gone afterwards."""
        return serving_beside(self.answer)


def run(file: Path, out: Path, *, key: str | None, **options: object) -> int:
    """`fff query` to a file."""
    arguments = QueryArguments.typed(
        sql=SQL, sources=(file,), output="csv", output_file=out, quiet=True, on_source_error="fail", **options
    )
    return run_query(arguments, environ={} if key is None else {"KEY": key})


def test_a_run_is_recorded_and_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site, taped = Answering(), tmp_path / "tape"
    reports = [tmp_path / "live.json", tmp_path / "again.json"]
    live, again = tmp_path / "live.csv", tmp_path / "again.csv"
    with site.serving() as url:
        file = spec(url, tmp_path)
        assert run(file, live, key=SECRET, record=taped, report=reports[0]) == 0
    assert sorted(live.read_text().splitlines()[1:]) == EXPECTED
    assert len(read_index(taped)) == site.asked >= 4 + 7 + 1
    for one in (item for item in taped.rglob("*") if item.is_file()):
        held = one.read_text()
        assert "s3cr" not in held, one.name

    assert run(file, again, key=None, replay=taped, replay_speed=0.0, report=reports[1]) == 0
    assert sorted(again.read_text().splitlines()[1:]) == EXPECTED
    first, second = (json.loads(report.read_text()) for report in reports)
    assert first["seed"] == second["seed"] == about(taped)["seed"]
    counted = ["name", "requests", "retries", "rows", "distinct_keys"]
    assert [[one[name] for name in counted] for one in first["access"]] == [
        [one[name] for name in counted] for one in second["access"]
    ]

    arguments = QueryArguments.typed(
        sql="SELECT y FROM s WHERE x = 'k9'",
        sources=(file,),
        on_source_error="fail",
        replay=taped,
        replay_speed=0.0,
    )
    assert run_query(arguments, environ={}) == 4
    said = capsys.readouterr().err
    assert "the recording 'tape' has no answer to GET" in said
    assert "/get/s/x/k9" in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"record": Path("a"), "replay": Path("b")}, "exclude each other"),
        ({"replay_speed": 2.0}, "--replay-speed goes with --replay"),
        ({"replay": Path("nowhere")}, "holds no recording"),
    ],
)
def test_wrong_usage(
    options: dict[str, object],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    file = spec("http://127.0.0.1:9", tmp_path)
    assert run_query(QueryArguments.typed(sql=SQL, sources=(file,), **options), environ={"KEY": "x"}) == 2
    assert message in capsys.readouterr().err
