"""`fff serve` and `fff query --server` as the processes that users start."""

from __future__ import annotations

import contextlib
import datetime as dt
import ipaddress
import json
import os
import signal
import socket
import ssl
import stat
import struct
import subprocess
import sys
import threading
import time
import urllib.request

import pyarrow.parquet as pq
import pytest
from aiohttp import web

from fff.errors import UsageError
from fff_cli.app import run
from fff_cli.serve.client import _RemoteRun
from fff_cli.serve.door import Listening, socket_file, tls_of, tokens_of
from tests.api.serving import COMMAND, TOKEN, command, has_ipv6, started
from tests.api.sites import JOIN, TABLES, site
from tests.web.serving import serving_beside


def said(text: str) -> str:
    """The closing line without the time and the requests, which a server that knows the tables saves."""
    return " ".join(word for word in text.split() if not any(char.isdigit() for char in word))


@pytest.mark.slow
def test_a_query_on_a_server_ends_as_it_does_here(publish, tmp_path, monkeypatch, capsys):
    one = site()
    one.faults[("r", "scan@40")] = 500
    tables = {"r": TABLES["r"], "s": TABLES["s"]}
    spec = publish(one, tables)
    path = tmp_path / "s.sock"
    (tmp_path / "q.sql").write_text("SELECT b FROM s WHERE a IN (1, 2);")
    cases = [
        ["SELECT b FROM s WHERE a = :k", "-p", "k=3"],
        ["-f", "q.sql", "-o", "json", "-v"],
        ["SELECT b FROM s WHERE a = 1", "-o", "table", "-q"],
        ["SELECT b FROM s WHERE a = 1 AND false", "-o", "ndjson"],
        ["SELECT nothing FROM s"],
        ["SELECT b FROM s"],
        ["SELECT b FROM s WHERE a = 1", "-o", "nonsense"],
        ["SELECT b FROM s WHERE a = 1", "--policy", "nonsense"],
        ["SELECT a FROM r", "--on-source-error", "partial"],
        ["SELECT a FROM r", "--on-source-error", "fail"],
        ["SELECT a FROM r", "--on-source-error", "partial", "-O", "o.parquet", "--report", "r.json"],
    ]
    with started(spec, "--socket", str(path), token=None) as server:
        for arguments in cases:
            ends = []
            for where in (["-s", str(spec), "--no-cache"], ["--server", str(path)]):
                folder = tmp_path / where[0].strip("-")
                folder.mkdir(exist_ok=True)
                (folder / "q.sql").write_text((tmp_path / "q.sql").read_text())
                monkeypatch.chdir(folder)
                code, shown = run(["query", *where, *arguments]), capsys.readouterr()
                told = "" if "-v" in arguments else said(shown.err)
                ends.append((code, sorted(shown.out.splitlines()), told))
            assert ends[0] == ends[1], arguments
        assert pq.read_table(tmp_path / "server" / "o.parquet").num_rows == 40
        assert json.loads((tmp_path / "server" / "r.json").read_text())["missing"]
        assert not (tmp_path / "server" / "o.parquet.partial").exists()
        refused = command("query", "--server", str(path), "--no-warm", "SELECT 1", cwd=tmp_path)
        assert (refused.returncode, "the server's to say" in refused.stderr) == (2, True)
        monkeypatch.setenv("FFF_SERVER", str(path))
        here = ["--server", "", "-s", str(spec), "--no-cache"]
        for arguments, code in (([], 0), (["-s", str(spec)], 2), (here, 0)):
            assert run(["query", *arguments, "SELECT b FROM s WHERE a = 1"]) == code, arguments
        monkeypatch.delenv("FFF_SERVER")
        server.stop()
    assert not path.exists()
    gone = command("query", "--server", str(path), "SELECT 1", cwd=tmp_path)
    assert (gone.returncode, gone.stdout) == (2, "")


@pytest.mark.slow
def test_a_client_loads_neither_the_engine_nor_arrow(publish, tmp_path):
    path = tmp_path / "s.sock"
    program = (
        "import sys\nfrom fff_cli.app import run\n"
        f"assert run(['query', '--server', {str(path)!r}, 'SELECT b FROM s WHERE a = 1']) == 0\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'pyarrow', 'sqlglot', 'numpy', 'aiohttp', 'asyncio'}))"
    )
    with started(publish(site(), TABLES), "--socket", str(path), token=None) as server:
        mode = path.stat().st_mode
        assert (stat.S_ISSOCK(mode), mode & 0o777) == (True, 0o600)
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
        )
        assert done.stdout == "b\n10\n[]\n"
        second = command("serve", "--socket", str(path), cwd=tmp_path)
        assert (second.returncode, "a server listens at" in second.stderr) == (2, True)
        assert server.stop() == 0
    assert not path.exists()
    assert list(tmp_path.glob(".s.sock*")) == []


@pytest.mark.slow
def test_stopping_the_server_ends_queries_as_partial_ones(publish):
    one = site()
    one.faults[("s", "3")] = "hang"
    with started(publish(one, TABLES)) as server:
        assert TOKEN not in server.said, "a token that was given is not printed"
        body = json.dumps({"sql": JOIN}).encode()
        request = urllib.request.Request(f"{server.url}/v1/query", body, {"Authorization": f"Bearer {TOKEN}"})
        answers: list[dict[str, object]] = []

        def ask() -> None:
            with urllib.request.urlopen(request, timeout=60) as reply:
                answers.append(json.load(reply))

        asking = threading.Thread(target=ask)
        asking.start()
        wait_for(one.hanging.is_set)
        assert server.stop() == 0
        asking.join(60)
        [answer] = answers
        assert answer["complete"] is False
        assert 0 < len(answer["rows"]) < 45  # type: ignore[arg-type]


@pytest.mark.slow
def test_ctrl_c_at_a_client_gives_what_is_there(publish, tmp_path):
    one = site()
    one.faults[("s", "3")] = "hang"
    path = tmp_path / "s.sock"
    with started(publish(one, TABLES), "--socket", str(path), token=None):
        arguments = [*COMMAND, "query", "--server", str(path), "--on-source-error", "partial", JOIN]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
            wait_for(one.hanging.is_set)
            assert client.stdout is not None
            assert client.stdout.readline() == "a,b\n"
            assert client.stdout.readline(), "rows come as they are found"
            client.send_signal(2)
            out, told = client.communicate(timeout=60)
        assert client.returncode == 3
        assert len(out.splitlines()) < 45 - 1
        assert "PARTIAL" in told


@pytest.mark.slow
def test_a_server_that_is_killed_makes_no_whole_answer(publish, tmp_path):
    one = site()
    one.faults[("s", "3")] = "hang"
    path = tmp_path / "s.sock"
    with started(publish(one, TABLES), "--socket", str(path), token=None) as server:
        arguments = [*COMMAND, "query", "--server", str(path), "-O", "o.csv", JOIN]
        with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as client:
            wait_for(one.hanging.is_set)
            wait_for(lambda: any(tmp_path.glob(".o.csv.*")))
            server.process.kill()
            _, told = client.communicate(timeout=60)
        assert client.returncode == 4
        assert "broke off" in told or "no answer" in told
        assert not list(tmp_path.glob("*o.csv*"))
        assert path.exists()
    with socket_file(path) as fresh, socket.socket(socket.AF_UNIX) as trial:
        trial.connect(str(path))
        assert fresh.fileno() >= 0
    assert not path.exists()


def test_a_socket_takes_no_other_file_s_place(tmp_path):
    path = tmp_path / "s.sock"
    path.write_text("precious")
    with pytest.raises(UsageError, match="no socket"), socket_file(path):
        pytest.fail("it listened")
    assert path.read_text() == "precious"
    path.unlink()
    with socket_file(path):
        with pytest.raises(UsageError, match="a server listens"), socket_file(path):
            pytest.fail("it listened")
        path.unlink()
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(path))
    assert path.exists(), "what another has put there stays"


def test_other_addresses_need_tls_and_tokens_need_strength(tmp_path, monkeypatch):
    monkeypatch.delenv("FFF_SERVE_TOKEN", raising=False)
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        with pytest.raises(UsageError, match="in the clear"):
            tls_of(Listening(host=host))
    assert tls_of(Listening(host="::1")) is None
    assert tls_of(Listening(host="0.0.0.0", without_tls=True)) is None
    with pytest.raises(UsageError, match="belong together"):
        tls_of(Listening(certificate=tmp_path))
    first, second = (tokens_of(Listening())[0][""] for _ in range(2))
    assert first != second
    assert len(first) >= 32
    file = tmp_path / "tokens"
    file.write_text(f"# who\nann:{'a' * 20}\nbob:{'b' * 20}\n")
    file.chmod(0o644)
    with pytest.raises(UsageError, match="others can read"):
        tokens_of(Listening(token_file=file))
    file.chmod(0o600)
    assert tokens_of(Listening(token_file=file))[0] == {"ann": "a" * 20, "bob": "b" * 20}
    with pytest.raises(UsageError, match="nowhere': No such file"):
        tokens_of(Listening(token_file=tmp_path / "nowhere"))
    file.write_text("ann:short\n")
    with pytest.raises(UsageError, match="too weak"):
        tokens_of(Listening(token_file=file))
    monkeypatch.setenv("FFF_SERVE_TOKEN", "short")
    with pytest.raises(UsageError, match="too weak"):
        tokens_of(Listening())


@pytest.mark.parametrize(
    "token", ["supersecret\nsecond", "é漢supersecret-and-long", "short", "super secret,longer"]
)
def test_a_token_that_cannot_be_sent_is_refused_and_not_shown(token, monkeypatch, capsys):
    monkeypatch.setenv("FFF_SERVE_TOKEN", token)
    assert run(["query", "--server", "http://127.0.0.1:1", "SELECT 1"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: the token of FFF_SERVE_TOKEN is too weak, or has characters")
    assert not any(word in told for word in token.split())


def test_how_an_answer_ended_is_told_before_its_report_is_written(monkeypatch, capfd):
    end = {"complete": False, "exit_code": 3, "report": {}, "closing": ["PARTIAL: a source failed"]}

    async def answer(_):
        said = json.dumps(end).encode()
        return web.Response(
            body=b"".join([struct.pack(">cI", b"r", 2), b"x\n", struct.pack(">cI", b"e", len(said)), said])
        )

    monkeypatch.setenv("FFF_SERVE_TOKEN", TOKEN)
    with serving_beside(answer) as url:
        assert run(["query", "--server", url, "SELECT 1", "--report", "/dev/full"]) == 2
    out, err = capfd.readouterr()
    assert out == "x\n"
    assert err.startswith("PARTIAL: a source failed\nerror: cannot write the report '/dev/full'")


@contextlib.contextmanager
def saying(words):
    """A server that says the same to everybody and hangs up; its port."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen()

        def serve():
            with contextlib.suppress(OSError), bound.accept()[0] as one:
                one.recv(65536)
                one.sendall(words)

        thread = threading.Thread(target=serve)
        thread.start()
        yield bound.getsockname()[1]
        bound.close()
        thread.join(60)


TLS_ALERT = b"\x15\x03\x01\x00\x02\x02\x46"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"


@pytest.mark.parametrize(
    ("scheme", "words", "told"),
    [
        ("http", TLS_ALERT, "the server gave no answer in HTTP\n  --server https://… where it speaks TLS"),
        ("http", b"", "the server gave no answer in HTTP\n  --server https://… where it speaks TLS"),
        ("https", b"HTTP/1.1 400 Bad Request\r\n\r\n", "--server http://… where it speaks in the clear"),
        ("http", HEAD, "broke off: what was written is not the whole result"),
    ],
)
def test_what_is_wrong_with_a_connection_is_told_as_that(monkeypatch, capfd, scheme, words, told):
    monkeypatch.setenv("FFF_SERVE_TOKEN", TOKEN)
    with saying(words) as port:
        assert run(["query", "--server", f"{scheme}://127.0.0.1:{port}", "SELECT 1"]) == 4
    err = capfd.readouterr().err
    assert told in err
    assert "starts one" not in err, "one runs there"
    assert run(["query", "--server", f"http://127.0.0.1:{port}", "SELECT 1"]) == 4
    assert "cannot reach the server: Connection refused\n  fff serve starts one" in capfd.readouterr().err


@pytest.mark.parametrize(("where", "rows"), [([], None), (["-O", "out.csv"], 0)])
def test_a_run_that_is_aborted_at_a_client_has_a_report(where, rows, tmp_path, monkeypatch, capfd):
    parts = [(b"r", b"x\n1\n"), (b"s", b"{}")]

    async def answer(_):
        return web.Response(body=b"".join(struct.pack(">cI", kind, len(data)) + data for kind, data in parts))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FFF_SERVE_TOKEN", TOKEN)
    monkeypatch.setattr(_RemoteRun, "_tell", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    with serving_beside(answer) as url:
        assert run(["query", "--server", url, "SELECT 1", "--report", "r.json", *where]) == 143
    assert capfd.readouterr().err == "aborted\n"
    account = json.loads((tmp_path / "r.json").read_text())
    assert (account["reason"], account["exit_code"], account["complete"]) == ("aborted", 143, False)
    assert account["rows"] == rows, "the server alone counts those that were written"


@pytest.mark.slow
def test_over_tls(publish, tmp_path):
    certificate, key = own_certificate(tmp_path)
    with started(
        publish(site(), TABLES), "--certificate", str(certificate), "--private-key", str(key)
    ) as server:
        assert server.url.startswith("https://")
        done = subprocess.run(
            [*COMMAND, "query", "--server", server.url, "SELECT b FROM s WHERE a = 1"], capture_output=True, text=True,
            env=dict(os.environ, FFF_SERVE_TOKEN=TOKEN, SSL_CERT_FILE=str(certificate)), timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "b\n10\n"), done.stderr
        distrusted = command("query", "--server", server.url, "SELECT 1", cwd=tmp_path)
        assert distrusted.returncode == 4
        assert "SSL_CERT_FILE" in distrusted.stderr
        assert "starts one" not in distrusted.stderr, "one runs there"
    clear = command("query", "--server", "http://192.0.2.1:1", "SELECT 1", cwd=tmp_path)
    assert (clear.returncode, "in the clear" in clear.stderr) == (2, True)


def own_certificate(folder):
    x509 = pytest.importorskip("cryptography.x509", reason="cryptography is not installed")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "here")])
    now = dt.datetime.now(dt.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1)).not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    certificate, private = folder / "c.pem", folder / "k.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    assert ssl.create_default_context(cafile=str(certificate)) is not None
    return certificate, private


def wait_for(true):
    until = time.monotonic() + 60
    while not true():
        assert time.monotonic() < until
        with contextlib.suppress(InterruptedError):
            time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 loopback")
def test_a_server_on_ipv6(publish, tmp_path):
    spec = publish(site(), TABLES)
    with started(spec, "--host", "::1") as server:
        assert server.url.startswith("http://[::1]:")
        done = command(
            "query", "--server", server.url, "SELECT b FROM s WHERE a = 1", "-o", "ndjson", cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout


@pytest.mark.parametrize(("where", "noted"), [([], True), (["-O", "out.csv"], False)])
def test_rows_that_went_out_before_an_error_are_said_to_be_no_answer(
    where, noted, tmp_path, monkeypatch, capfd
):
    parts = [(b"r", b"x\n1\n"), (b"x", json.dumps({"text": "a.R: HTTP 503", "exit_code": 4}).encode())]

    async def answer(_):
        return web.Response(body=b"".join(struct.pack(">cI", kind, len(data)) + data for kind, data in parts))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FFF_SERVE_TOKEN", TOKEN)
    with serving_beside(answer) as url:
        assert run(["query", "--server", url, "SELECT 1", *where]) == 4
    note = "\n  the rows written before that are not the whole answer"
    assert capfd.readouterr().err == f"error: a.R: HTTP 503{note if noted else ''}\n"
