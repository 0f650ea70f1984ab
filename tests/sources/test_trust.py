"""A spec that nobody named is given no secret before it is trusted; named or not, secrets go to its own hosts alone."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from aiohttp import web

from fff.errors import SecretError, SourceError, UsageError
from fff.stats import AccessMeter
from fff.web.client import WebClient
from fff_cli.app import run
from fff_sources.document import read_document
from fff_sources.load import load_catalog
from fff_sources.trust import TrustStore
from tests.sources.reading import Reader
from tests.web.serving import Serve

Command = Callable[..., tuple[int, str, str]]


def spec(url: str, header: str, name: str = "town", more: str = "") -> str:
    return (
        f"version: 1\nsources:\n  {name}:\n    client: {{base_url: '{url}', headers: {{X: '{header}'}}{more}}}\n"
        "    tables: {t: {columns: {id: int}, scan: {endpoint: rows}}}\n"
    )


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder, and a home beside it that holds a key."""
    (tmp_path / "home" / ".ssh").mkdir(parents=True)
    (tmp_path / "home" / ".ssh" / "id").write_text("private")
    (tmp_path / "here").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("FFF_SOURCES", raising=False)
    monkeypatch.setenv("KEY", "sesame")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "home"


@pytest.fixture
def fff(home: Path, capfd: pytest.CaptureFixture[str]) -> Command:
    def command(*arguments: str) -> tuple[int, str, str]:
        capfd.readouterr()
        return (run(list(arguments)), *capfd.readouterr())

    return command


def put(file: str, text: str) -> None:
    """A file of the working folder."""
    Path(file).parent.mkdir(exist_ok=True)
    Path(file).write_text(text)


def link(to: Path) -> None:
    Path("link").symlink_to(to)


async def ids(*paths: str, table: str = "town.t") -> tuple[list[int], AccessMeter]:
    """The rows of a table of the specs, as the working folder has them or as they are named."""
    client, meter = WebClient(), AccessMeter()
    catalog = load_catalog(list(map(Path, paths)), environ=os.environ, cwd=Path.cwd(), client=client)
    try:
        await catalog.discover(catalog.find(table.split(".")))
        (found,) = catalog.find(table.split("."))
        pages = catalog.adapter_of(found).scan(found, found.scans[0], ["id"], meter=meter, window=1)
        return [row for page in [page async for page in pages] for row in page.rows["id"].to_pylist()], meter
    finally:
        for adapter in catalog.adapters:
            await adapter.close()
        await client.close()


async def rows(asked: web.Request) -> web.Response:
    return web.json_response([{"id": 1}])


@pytest.mark.parametrize("file", ["fff.yaml", "sources/town.yaml"])
async def test_a_found_spec_gets_secrets_once_it_is_trusted(
    file: str, home: Path, fff: Command, serve: Serve
) -> None:
    server = await serve(rows)
    put(file, spec(server.url, "k ${env:KEY}"))
    with pytest.raises(SecretError, match=f"{file}:4: .*headers.X.*env:KEY.*nobody has trusted") as error:
        await ids()
    assert f"`fff source trust {file}`" in str(error.value)
    assert server.asked == [], "nothing is sent, not even without the secret"
    assert (await ids(file))[0] == [1], "who names it has said so"
    code, out, _ = fff("source", "trust", file)
    assert (code, out) == (0, f"{file} is trusted until it changes\n  town ({server.url}): env:KEY\n")
    assert (await ids())[0] == [1]
    assert [one.headers["X"] for one in server.asked] == ["k sesame"] * 2
    store = home / ".config" / "fff" / "trusted.json"
    assert stat.S_IMODE(store.stat().st_mode) == 0o600
    put(file, spec(server.url, "k ${env:KEY}") + "# another\n")
    assert fff("source", "trust", "--list")[1] == f"{home.parent}/here/{file}\tchanged since\n"
    with pytest.raises(SecretError, match="nobody has trusted"):
        await ids()
    assert fff("source", "trust", file)[0] == 0
    assert (await ids())[0] == [1]
    assert fff("source", "trust", "--revoke", file)[0] == 0
    with pytest.raises(SecretError, match="nobody has trusted"):
        await ids()
    assert fff("source", "trust", "--revoke", file)[0] == 2


async def test_a_copy_elsewhere_is_another_spec(home: Path, fff: Command, serve: Serve) -> None:
    server = await serve(rows)
    put("fff.yaml", spec(server.url, "${env:KEY}"))
    fff("source", "trust")
    (home / "fff.yaml").write_text(spec(server.url, "${env:KEY}"))
    assert TrustStore(os.environ).holds(read_document(Path("fff.yaml")))
    assert not TrustStore(os.environ).holds(read_document(home / "fff.yaml"))


async def test_what_needs_no_trust(home: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """A spec without secrets, a variable that says where a source is, and what lies in the user's own folder."""
    server = await serve(rows)
    monkeypatch.setenv("FFF_ANY_BASE_URL", server.url)
    put("fff.yaml", spec("${env:FFF_ANY_BASE_URL}", "plain"))
    assert (await ids())[0] == [1]
    (home.parent / "here" / "fff.yaml").unlink()
    own = home / ".config" / "fff"
    own.mkdir(parents=True)
    (own / "town.yaml").write_text(spec(server.url, "${file:~/.ssh/id}"))
    assert (await ids())[0] == [1]
    assert server.asked[-1].headers["X"] == "private"


@pytest.mark.parametrize("reference", ["${file:~/.ssh/id}", "${file:../home/.ssh/id}", "${file:link}"])
async def test_a_file_outside_of_the_folder_needs_trust_also_where_the_spec_is_named(
    reference: str, home: Path, fff: Command, serve: Serve
) -> None:
    server = await serve(rows)
    link(home / ".ssh" / "id")
    put("token", "near")
    put("fff.yaml", spec(server.url, reference))
    with pytest.raises(SecretError, match="lies outside of") as error:
        await ids("fff.yaml")
    assert "`fff source trust fff.yaml`" in str(error.value)
    fff("source", "trust")
    assert (await ids("fff.yaml"))[0] == [1]
    put("fff.yaml", spec(server.url, "${file:token}"))
    assert (await ids("fff.yaml"))[0] == [1]
    assert [one.headers["X"] for one in server.asked] == ["private", "near"]


@pytest.mark.parametrize("path", ["~/.ssh/id", "../home/.ssh/*", "link"])
async def test_a_found_spec_reads_no_file_outside_of_its_folder(path: str, home: Path, fff: Command) -> None:
    """Its rows could go out as keys of the next table."""
    link(home / ".ssh" / "id")
    text = "version: 1\nsources:\n  town: {type: files, tables: {t: {path: 'PATH', format: csv, columns: {id: int}}}}\n"
    put("fff.yaml", text.replace("PATH", path))
    (home / ".ssh" / "id").write_text("id\n7\n")
    with pytest.raises(
        SourceError, match=r"lies outside of the folder of fff\.yaml, which nobody has trusted"
    ):
        await ids()
    assert (await ids("fff.yaml"))[0] == [7]
    fff("source", "trust")
    assert (await ids())[0] == [7]


async def test_a_found_spec_opens_no_database_that_knows_us(home: Path, fff: Command) -> None:
    """A file elsewhere, through a link too; or a server, which may know us by PGPASSWORD, ~/.pgpass or our name."""
    pytest.importorskip("adbc_driver_sqlite", reason="pip install 'fff[sqlite]'")
    with contextlib.closing(sqlite3.connect(home / ".ssh" / "id.db")) as database:
        database.executescript("CREATE TABLE t (id INT); INSERT INTO t VALUES (7)")
    link(home / ".ssh")
    text = "version: 1\nsources:\n  town: {type: adbc, driver: DRIVER, uri: 'URI', tables: {t: {}}}\n"
    for uri in ("../home/.ssh/id.db", "link/id.db"):
        put("fff.yaml", text.replace("DRIVER", "sqlite").replace("URI", uri))
        with pytest.raises(SourceError, match=r"lies outside of the folder of fff\.yaml"):
            await ids()
        assert (await ids("fff.yaml"))[0] == [7]
    fff("source", "trust")
    assert (await ids())[0] == [7]
    put("fff.yaml", text.replace("DRIVER", "postgresql").replace("URI", "postgresql://127.0.0.1:1/x"))
    with pytest.raises(SecretError, match="the login to town is not given to a spec that nobody has trusted"):
        await ids()


@pytest.mark.usefixtures("home")
async def test_a_found_source_takes_no_bundled_ones_place_in_silence(fff: Command, serve: Serve) -> None:
    server = await serve(rows)
    put("fff.yaml", spec(server.url, "plain", name="github"))
    found, meter = await ids(table="github.t")
    (warning,) = meter.warnings
    assert found == [1]
    assert "github is not the bundled source of that name: fff.yaml" in warning
    assert "`fff source trust fff.yaml`" in warning
    assert "takes the place of the bundled source" in fff("source", "trust")[1]
    assert not (await ids(table="github.t"))[1].warnings
    assert not (await ids("fff.yaml", table="github.t"))[1].warnings


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("{", 0o600),
        ("[]", 0o600),
        ('{"version": 2}', 0o600),
        ('{"version": 1, "specs": {"a": 1}}', 0o600),
        ("[" * 9999, 0o600),
        ("", 0o620),
    ],
)
async def test_a_store_that_is_not_ours_trusts_nobody(
    text: str, mode: int, home: Path, fff: Command, serve: Serve
) -> None:
    server = await serve(rows)
    put("fff.yaml", spec(server.url, "${env:KEY}"))
    fff("source", "trust")
    store = home / ".config" / "fff" / "trusted.json"
    store.write_text(text or store.read_text())
    store.chmod(mode)
    with pytest.raises(UsageError, match=r"trusted\.json: (is damaged|somebody else can write to it)"):
        await ids()
    assert server.asked == []


def test_what_is_no_spec_is_not_trusted(home: Path, fff: Command) -> None:
    for text in ("version: 1\n", "[]", "{"):
        put("fff.yaml", text)
        code, out, err = fff("source", "trust")
        assert (code, out) == (2, "")
        assert err.startswith("error: fff.yaml")
    assert fff("source", "trust", "nowhere.yaml")[0] == 2
    assert not (home / ".config").exists()
    assert fff("source", "trust", "--list") == (0, "", "no spec is trusted\n")


AUTH = ", auth: {type: api_key, name: K, api_key: '${env:KEY}'}"


@pytest.mark.parametrize("part", [AUTH, ", headers: {K: '${env:KEY}'}", ", params: {k: '${env:KEY}'}"])
async def test_secrets_go_to_the_hosts_of_the_source_alone(
    part: str, serve: Serve, read: Callable[..., Reader]
) -> None:
    here, there = await serve(rows), await serve(rows)
    tables = f"tables: {{t: {{columns: {{id: int}}, scan: {{endpoint: '{there.url}/rows'}}}}}}"

    def reader(more: str) -> Reader:
        text = f"{{version: 1, sources: {{a: {{client: {{base_url: '{here.url}'{more}}}, {tables}}}}}}}"
        return read(text, KEY="s3sam3-s3sam3")

    with pytest.raises(
        SourceError, match="refused to send secrets to a host other than that of base_url"
    ) as error:
        await reader(part).scan("t")
    assert there.asked == []
    assert "client.allowed_hosts" in str(error.value)
    assert "s3sam3" not in str(error.value)
    assert await reader("").scan("t") == [{"id": 1}], "there is nothing to keep"
    allowed = f", allowed_hosts: ['127.0.0.1:{there.port}']"
    assert await reader(part + allowed).scan("t") == [{"id": 1}]
    sent = there.asked[-1]
    assert "s3sam3-s3sam3" in json.dumps([dict(sent.headers), dict(sent.query)])


async def test_every_key_is_asked_whether_it_names_the_host_of_the_source(
    serve: Serve, read: Callable[..., Reader]
) -> None:
    """The second one as well, for which a request is not made anew."""
    server = await serve(rows)
    port = server.port
    endpoint = f"http://{{host}}:{port}/items"
    text = (
        f"{{version: 1, sources: {{a: {{client: {{base_url: 'http://127.0.0.1:{port}'{AUTH}}}, tables: {{t: {{"
        f"columns: {{host: string, id: int}}, lookups: [{{keys: [host], endpoint: '{endpoint}'}}]}}}}}}}}}}"
    )
    reader = read(text, KEY="s3sam3-s3sam3")
    assert await reader.lookup("t", "127.0.0.1") == [{"host": "127.0.0.1", "id": 1}]
    with pytest.raises(SourceError, match="refused to send secrets to a host other than that of base_url"):
        await reader.lookup("t", "localhost")
    assert len(server.asked) == 1


@pytest.mark.parametrize("of", ["host", "port", "scheme"])
async def test_a_host_that_begins_like_that_of_the_source_is_another(
    of: str, read: Callable[..., Reader]
) -> None:
    here, there = {
        "host": ("https://api.example.com", "https://api.example.com.au/rows"),
        "port": ("http://127.0.0.1:3831", "http://127.0.0.1:38313/rows"),
        "scheme": ("https://api.example.com", "http://api.example.com/rows"),
    }[of]
    tables = f"tables: {{t: {{columns: {{id: int}}, scan: {{endpoint: '{there}'}}}}}}"
    text = f"{{version: 1, sources: {{a: {{client: {{base_url: '{here}'{AUTH}}}, {tables}}}}}}}"
    with pytest.raises(SourceError, match="refused to send secrets to a host other than that of base_url"):
        await read(text, KEY="s3sam3-s3sam3").scan("t")


async def test_a_key_that_makes_no_url_is_told(read: Callable[..., Reader]) -> None:
    endpoint = "http://127.0.0.1:{port}/items"
    text = (
        "{version: 1, sources: {a: {client: {base_url: 'http://127.0.0.1'}, tables: {t: {"
        f"columns: {{port: string, id: int}}, lookups: [{{keys: [port], endpoint: '{endpoint}'}}]}}}}}}}}}}"
    )
    for key in ("http", "99999"):
        with pytest.raises(SourceError, match="not a usable URL: Port"):
            await read(text).lookup("t", key)
