"""Proxies, Unix sockets and private certificates, over a real wire."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import ipaddress
import os
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fff.errors import SecretError, SourceError
from fff.stats import AccessMeter
from fff.web.client import WebClient
from fff_sources.load import lint, load_catalog
from tests.cli.terminal import REAL, environment
from tests.sources.reading import Reader
from tests.web.serving import Serve

Read = Callable[..., Reader]


def spec(url: str, network: str) -> str:
    client = f"client: {{base_url: '{url}', {network}retry: {{max_attempts: 1}}, timeout: {{total: 5}}}}"
    return f"{{version: 1, sources: {{api: {{{client}, tables: {{t: {{columns: {{id: int}}, scan: {{endpoint: r}}}}}}}}}}}}"


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment names none."""
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


async def rows(_: web.BaseRequest) -> web.Response:
    return web.json_response([{"id": 1}])


@pytest.mark.usefixtures("no_proxies")
async def test_a_proxy_of_the_spec_and_of_the_environment(
    serve: Serve, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = await serve(rows)
    url = "http://api.example.org/v1"  # which nobody here can reach
    assert await read(spec(url, f"network: {{proxy: '{proxy.url}'}}, ")).scan("t") == [{"id": 1}]
    assert [str(request.url) for request in proxy.asked] == ["http://api.example.org/v1/r"]
    monkeypatch.setenv("http_proxy", proxy.url.replace("//", "//ann:geheimes-wort@"))
    assert await read(spec(url, "")).scan("t") == [{"id": 1}]
    assert proxy.asked[1].headers["Proxy-Authorization"].startswith("Basic ")
    monkeypatch.setenv("no_proxy", "example.org")
    with pytest.raises(SourceError, match=r"there is no host|no way leads"):
        await read(spec(url, "")).scan("t")
    monkeypatch.delenv("no_proxy")
    with pytest.raises(SourceError, match=r"there is no host|no way leads"):
        await read(spec(url, "network: {proxy: none}, ")).scan("t")
    assert len(proxy.asked) == 2
    own = await serve(rows)
    assert await read(spec(own.url, "")).scan("t") == [{"id": 1}]
    assert len(own.asked) == 1  # this machine is reached without it
    assert await read(spec(own.url, f"network: {{proxy: '{proxy.url}'}}, ")).scan("t") == [{"id": 1}]
    assert (len(own.asked), len(proxy.asked)) == (1, 3)  # unless the spec says so
    monkeypatch.setenv("http_proxy", "quic://ann:geheimes-wort@127.0.0.1:9")
    with pytest.raises(SourceError, match="a proxy of kind 'quic'") as caught:
        await read(spec(url, "")).scan("t")
    assert "geheimes-wort" not in caught.value.render()
    for proxy_url, says in {
        "http://ann:geheimes-wort@127.0.0.1:99999": "the proxy is no usable URL",
        "http://ann:geheimes-wort@127.0.0.1:9": "cannot connect to the proxy: nothing listens at 127.0.0.1:9",
        "http://ann:geheimes-wort@nowhere.invalid:9": "cannot connect to the proxy: there is no host nowhere.invalid",
    }.items():
        monkeypatch.setenv("http_proxy", proxy_url)
        with pytest.raises(SourceError, match=says) as caught:
            await read(spec(url, "")).scan("t")
        assert "geheimes-wort" not in caught.value.render()
        assert "HTTPS_PROXY" in caught.value.render()


@pytest.mark.usefixtures("no_proxies")
async def test_a_proxy_that_wants_a_password_says_so(
    serve: Serve, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(request: web.Request) -> web.Response:
        return web.Response(status=407)

    monkeypatch.setenv("http_proxy", (await serve(refuse)).url)
    with pytest.raises(SourceError, match="HTTP 407") as caught:
        await read(spec("http://api.example.org/v1", "")).scan("t")
    assert "the proxy wants a name and a password" in caught.value.render()


class Socks:
    """A SOCKS 5 proxy (RFC 1928) that wants a password (RFC 1929), and leads every name to one port of this machine."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.asked: list[bytes] = []
        self.refuses = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError), contextlib.closing(writer):
            _, count = await reader.readexactly(2)
            await reader.readexactly(count)
            writer.write(b"\x05\x02")
            _, size = await reader.readexactly(2)
            name = await reader.readexactly(size)
            word = await reader.readexactly((await reader.readexactly(1))[0])
            known = (name, word) == (b"ann", b"geheimes-wort")
            writer.write(b"\x01\x00" if known else b"\x01\x01")
            if not known:
                return
            kind = (await reader.readexactly(4))[3]
            assert kind == 3, "a name, which the proxy looks up"
            host = await reader.readexactly((await reader.readexactly(1))[0])
            port = int.from_bytes(await reader.readexactly(2))
            self.asked.append(host + b":%d" % port)
            writer.write(bytes([5, 5 if self.refuses else 0, 0, 1, 0, 0, 0, 0, 0, 0]))
            if self.refuses:
                return
            there, back = await asyncio.open_connection("127.0.0.1", self.port)
            with contextlib.closing(back):
                await asyncio.gather(_poured(reader, back), _poured(there, writer))


async def _poured(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(65_536):
        target.write(data)
        await target.drain()
    target.close()


@pytest.mark.usefixtures("no_proxies")
async def test_a_socks_proxy_of_the_environment_and_of_the_spec(
    serve: Serve, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = await serve(rows)
    proxy = Socks(own.port)
    async with await asyncio.start_server(proxy.serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        url = "http://api.example.org/v1"
        for kind in ("socks5", "socks5h"):
            monkeypatch.setenv("all_proxy", f"{kind}://ann:geheimes-wort@127.0.0.1:{port}")
            assert await read(spec(url, "")).scan("t") == [{"id": 1}]
        assert proxy.asked == [b"api.example.org:80"] * 2, "over one connection each"
        assert [request.headers["Host"] for request in own.asked] == ["api.example.org"] * 2
        proxy.refuses = True
        with pytest.raises(SourceError, match="the proxy refuses") as caught:
            await read(spec(url, "")).scan("t")
        monkeypatch.setenv("all_proxy", f"socks5://ann:falsches-wort@127.0.0.1:{port}")
        with pytest.raises(SourceError, match="the proxy refuses") as denied:
            await read(spec(url, "")).scan("t")
        assert "s-wort" not in caught.value.render() + denied.value.render()
        assert "network.proxy" in denied.value.render()
        monkeypatch.delenv("all_proxy")
        with pytest.raises(SourceError, match="the proxy refuses"):  # which wants a password
            await read(spec(url, f"network: {{proxy: 'socks5://127.0.0.1:{port}'}}, ")).scan("t")
    with pytest.raises(SourceError, match=r"cannot connect|connection broken|the proxy refuses"):
        await read(spec(url, f"network: {{proxy: 'socks5://127.0.0.1:{port}'}}, ")).scan("t")


async def test_without_the_package_a_socks_proxy_is_an_error_that_says_how(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp_socks", None)
    with pytest.raises(SourceError, match="without aiohttp-socks") as caught:
        await read(spec("http://api.example.org", "network: {proxy: 'socks5://127.0.0.1:9'}, ")).scan("t")
    assert "pip install 'fff[socks]'" in caught.value.render()


async def test_a_unix_socket(read: Read, tmp_path: Path) -> None:
    runner = web.ServerRunner(web.Server(rows), shutdown_timeout=0)
    await runner.setup()
    try:
        await web.UnixSite(runner, str(tmp_path / "api.sock")).start()
        assert await read(spec("http://engine/v1", "network: {unix_socket: api.sock}, ")).scan("t") == [
            {"id": 1}
        ]
    finally:
        await runner.cleanup()
    with pytest.raises(SourceError, match=r"cannot connect: .*gone\.sock"):
        await read(spec("http://engine/v1", "network: {unix_socket: gone.sock}, ")).scan("t")


def certificate(folder: Path, name: str, issuer: str | None = None) -> None:
    """Write NAME.pem and NAME.key, signed by an issuer of the same folder, or by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = dt.datetime.now(dt.UTC)
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    signer, by = key, who
    if issuer is not None:
        loaded = serialization.load_pem_private_key((folder / f"{issuer}.key").read_bytes(), None)
        assert isinstance(loaded, ec.EllipticCurvePrivateKey)
        signer, by = loaded, x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)])
    built = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(by)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(signer, hashes.SHA256())
    )  # fmt: skip
    (folder / f"{name}.pem").write_bytes(built.public_bytes(serialization.Encoding.PEM))
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / f"{name}.key").write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))


@contextlib.asynccontextmanager
async def over_tls(
    folder: Path,
    answer: Callable[[web.BaseRequest], Awaitable[web.Response]] = rows,
    wants: ssl.VerifyMode = ssl.CERT_REQUIRED,
) -> AsyncIterator[str]:
    """The URL of a server that shows a certificate of a private authority, and wants one of it."""
    if not (folder / "ca.pem").exists():
        certificate(folder, "ca")
        for name in ("server", "client"):
            certificate(folder, name, "ca")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(folder / "ca.pem"))
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    context.verify_mode = wants
    runner = web.ServerRunner(web.Server(answer), shutdown_timeout=0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        yield f"https://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def test_private_certificates(read: Read, tmp_path: Path) -> None:
    async with over_tls(tmp_path) as url:
        known = "ca_bundle: ca.pem"
        whole = f"network: {{{known}, client_certificate: client.pem, client_key: client.key}}, "
        assert await read(spec(url, whole)).scan("t") == [{"id": 1}]
        with pytest.raises(SourceError):  # it does not know us
            await read(spec(url, f"network: {{{known}}}, ")).scan("t")
        with pytest.raises(
            SourceError, match="no secure connection: the certificate of the server"
        ) as caught:
            await read(spec(url, "")).scan("t")  # we do not know it
        assert "client.network.ca_bundle" in str(caught.value)


async def test_certificates_of_the_system_are_those_that_openssl_is_told_of(tmp_path: Path) -> None:
    """Though the command is loaded without them."""
    async with over_tls(tmp_path, wants=ssl.CERT_NONE) as url:
        (tmp_path / "api.yaml").write_text(spec(url, ""))
        for name, told in (("ca", b"id\n1\n"), ("client", b"")):
            changes = {"SSL_CERT_FILE": str(tmp_path / f"{name}.pem"), "SSL_CERT_DIR": str(tmp_path)}
            run = await asyncio.create_subprocess_exec(
                *(*REAL, "query", "-q", "-o", "csv", "-s", "api.yaml", "SELECT id FROM t"),
                cwd=tmp_path,
                env=environment(**changes),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            out, err = await run.communicate()
            assert out == told, err
            assert (b"no secure connection" in err) == (not told)


ADAPTER = """
import ssl, sys
from aiohttp import connector
made = [one for one in vars(connector).values() if isinstance(one, ssl.SSLContext)]
print("believed:", max(one.cert_store_stats()["x509"] for one in made), file=sys.stderr)
"""


def test_an_adapter_that_connects_by_itself_has_the_certificates_of_the_system(tmp_path: Path) -> None:
    certificate(tmp_path, "ca")
    metadata = tmp_path / "own-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[fff.sources]\nown = own_adapter:Own\n")
    (tmp_path / "own_adapter.py").write_text(ADAPTER)
    (tmp_path / "api.yaml").write_text("version: 1\nsources: {api: {type: own}}\n")
    changes = environment(SSL_CERT_FILE=str(tmp_path / "ca.pem"), SSL_CERT_DIR=str(tmp_path / "none"))
    changes["PYTHONPATH"] += os.pathsep + str(tmp_path)
    command = [*REAL, "query", "-q", "-s", "api.yaml", "SELECT id FROM t"]
    run = subprocess.run(command, cwd=tmp_path, env=changes, capture_output=True, text=True, check=False)
    assert "believed: 1" in run.stderr
    assert "cannot be loaded: AttributeError: module 'own_adapter' has no attribute 'Own'" in run.stderr
    assert "own_adapter:Own of the package own is at fault" in run.stderr


@pytest.mark.parametrize("leads", ["a next link", "a redirect", "the spec"])
async def test_a_client_certificate_is_shown_to_no_other_host(read: Read, tmp_path: Path, leads: str) -> None:
    shown: list[object] = []

    async def elsewhere(asked: web.BaseRequest) -> web.Response:
        assert asked.transport is not None
        shown.append(asked.transport.get_extra_info("peercert"))
        return web.json_response({"items": [{"id": 2}]})

    async with over_tls(tmp_path, elsewhere, ssl.CERT_OPTIONAL) as there:

        async def handler(_: web.BaseRequest) -> web.Response:
            if leads == "a redirect":
                return web.Response(status=302, headers={"Location": f"{there}/next"})
            return web.json_response({"items": [{"id": 1}], "next": f"{there}/next"})

        async with over_tls(tmp_path, handler) as url:
            network = "{ca_bundle: ca.pem, client_certificate: client.pem, client_key: client.key}"
            allowed = "" if leads == "the spec" else f", allowed_hosts: ['{there.removeprefix('https://')}']"
            path = f"'{there}/r'" if leads == "the spec" else "r"
            endpoint = f"{{path: {path}, data_selector: items, paginator: json_link}}"
            text = (
                f"{{version: 1, sources: {{api: {{client: {{base_url: '{url}', network: {network}{allowed}}}, "
                f"tables: {{t: {{columns: {{id: int}}, scan: {{endpoint: {endpoint}}}}}}}}}}}}}"
            )
            assert (await read(text).scan("t"))[-1] == {"id": 2}
    assert shown == [None]


async def test_a_unix_socket_leads_to_no_other_host(serve: Serve, read: Read, tmp_path: Path) -> None:
    async def elsewhere(_: web.BaseRequest) -> web.Response:
        return web.json_response([{"id": 2}])

    there = await serve(elsewhere)

    async def handler(_: web.BaseRequest) -> web.Response:
        return web.Response(status=302, headers={"Location": f"{there.url}/r"})

    runner = web.ServerRunner(web.Server(handler), shutdown_timeout=0)
    await runner.setup()
    try:
        await web.UnixSite(runner, str(tmp_path / "api.sock")).start()
        more = f"network: {{unix_socket: api.sock}}, allowed_hosts: ['127.0.0.1:{there.port}'], "
        assert await read(spec("http://engine/v1", more)).scan("t") == [{"id": 2}]
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("network", "said"),
    [
        ("ca_bundle: none.pem", r"ca_bundle cannot be read: \S+none.pem: No such file"),
        ("ca_bundle: mine.key", r"no certificate in \S+mine.key"),
        ("client_certificate: none.pem", r"client_certificate cannot be read: \S+none.pem: No such file"),
        ("client_certificate: mine.pem, client_key: none.key", r"client_key cannot be read: \S+none.key"),
        ("client_certificate: text.pem, client_key: mine.key", r"no certificate in \S+text.pem"),
        ("client_certificate: mine.pem", r"no private key in \S+mine.pem"),
        ("client_certificate: mine.pem, client_key: text.pem", r"no private key in \S+text.pem"),
        (
            "client_certificate: mine.pem, client_key: its.key",
            r"the key in \S+its.key is not that of .*mine.pem",
        ),
        (
            "client_certificate: mine.pem, client_key: locked.key",
            r"the key in \S+locked.key is locked .*password",
        ),
    ],
)
async def test_certificates_that_cannot_be_used(read: Read, tmp_path: Path, network: str, said: str) -> None:
    """Which file, what is wrong with it and what to do; nobody is asked for a password, which would stop everything."""
    certificate(tmp_path, "mine")
    certificate(tmp_path, "its")
    (tmp_path / "text.pem").write_text("no certificate")
    key = serialization.load_pem_private_key((tmp_path / "mine.key").read_bytes(), None)
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    locked = serialization.BestAvailableEncryption(b"secret")
    (tmp_path / "locked.key").write_bytes(key.private_bytes(encoding, form, locked))
    with pytest.raises(SourceError, match=said) as caught:
        await read(spec("https://127.0.0.1:9", f"network: {{{network}}}, ")).scan("t")
    assert "client.network" in str(caught.value)


@pytest.mark.usefixtures("no_proxies")
async def test_a_tunnel_through_a_proxy(read: Read, tmp_path: Path) -> None:
    """CONNECT: the proxy sees whom we want, and nothing else in the clear. A refusal is an error that says so."""
    heads: list[bytes] = []
    poured: list[bytes] = []
    refuses = ""

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError), contextlib.closing(writer):
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            if refuses:
                writer.write(f"HTTP/1.1 {refuses}\r\nContent-Length: 0\r\n\r\n".encode())
                return
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            host, port = heads[-1].split()[1].decode().rsplit(":", 1)
            there, back = await asyncio.open_connection(host, int(port))
            with contextlib.closing(back):
                poured.append(first := await reader.read(65_536))
                back.write(first)
                await asyncio.gather(_poured(reader, back), _poured(there, writer))

    async with over_tls(tmp_path) as url, await asyncio.start_server(tunnel, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        secure = "ca_bundle: ca.pem, client_certificate: client.pem, client_key: client.key"
        through = f"network: {{{secure}, proxy: 'http://127.0.0.1:{port}'}}, "
        assert await read(spec(url, through)).scan("t") == [{"id": 1}]
        assert heads[0].startswith(f"CONNECT {url.removeprefix('https://')} HTTP/1.1".encode())
        assert poured[0][0] == 22, "a handshake of TLS"
        refuses = "407 Proxy Authentication Required"
        with pytest.raises(SourceError, match="the proxy answers 407"):
            await read(spec(url, through)).scan("t")
        refuses = "403 Forbidden"
        with pytest.raises(SourceError, match="the proxy answers 403") as caught:
            await read(spec(url, through)).scan("t")
        assert "whom the proxy lets through" in caught.value.render()


async def test_a_stranger_s_spec_names_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fff.yaml").write_text(
        spec("http://engine", "network: {unix_socket: /var/run/docker.sock}, ")
    )
    client = WebClient()
    catalog = load_catalog([], environ={}, cwd=tmp_path, client=client)
    (table,) = catalog.find(["api", "t"])
    with pytest.raises(SecretError, match="not given to a spec that nobody has trusted"):
        async for _ in catalog.adapter_of(table).scan(
            table, table.scans[0], ["id"], meter=AccessMeter(), window=1
        ):
            pass
    await client.close()


@pytest.mark.parametrize(
    ("network", "says"),
    [
        ("proxy: 'quic://h:1'", "proxy is http://HOST:PORT, socks5://HOST:PORT, or none"),
        ("proxy: 'http://a:b@h:1'", "proxy holds no password"),
        ("client_key: k.pem", "is of a client_certificate"),
        ("unix_socket: s, proxy: 'http://h:1'", "not reached through a proxy"),
    ],
)
def test_lint_finds_it(tmp_path: Path, network: str, says: str) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(spec("https://e.org", f"network: {{{network}}}, "))
    assert any(says in str(error) for error in lint(file)), [str(error) for error in lint(file)]
