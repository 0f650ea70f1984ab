"""`--checkpoint` and `fff resume`: whenever a run is killed, the next one answers the same and asks nothing twice."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fff.access.disk.journal import Journal, JournaledClient
from fff.errors import UsageError
from fff.stats import AccessMeter
from fff.structs import replace
from fff.web.types import Credentials, Outgoing, RawResponse, Request
from fff_cli.app import run as fff
from tests.cli.watched import EXPECTED, SQL, Watched, result, spec, within_what_was_in_flight


def started(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "fff_cli", *words],
        cwd=folder,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def begin(folder: Path, *more: str) -> subprocess.Popen[str]:
    return started(folder, "query", SQL, "-s", "fff.yaml", "--checkpoint", "kept", "-O", "out.csv", *more)


def resumed(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fff_cli", "resume", str(folder / "kept"), *more],
        cwd=folder.parent,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def kill_and_go_on(folder: Path, moments: list[int]) -> Watched:
    """Killed at the n-th request, and again when it goes on, until it is let to its end."""
    site = Watched()
    with site.serving() as url:
        spec(url, folder)
        for number, moment in enumerate(moments):
            site.ends_at = site.asked + moment
            again = number and (folder / "kept" / "statement.json").exists()
            site.asking = started(folder, "resume", "kept") if again else begin(folder)
            site.asking.wait(120)
        site.ends_at = None
        if not (folder / "out.csv").exists():
            done = resumed(folder)
            assert done.returncode == 0, done.stderr
        assert result(folder) == EXPECTED
    return site


@contextlib.contextmanager
def ended(folder: Path) -> Iterator[tuple[Watched, int]]:
    """A site that has been read to the end, of which the result is gone, and how often it was asked."""
    site = Watched()
    with site.serving() as url:
        spec(url, folder)
        assert begin(folder).wait(120) == 0
        (folder / "out.csv").unlink()
        yield site, site.asked


@pytest.mark.slow
@pytest.mark.parametrize("moment", [30, *(pytest.param(one, marks=pytest.mark.slow) for one in (1, 75))])
def test_a_killed_run_goes_on_where_it_was(moment: int, tmp_path: Path) -> None:
    site = kill_and_go_on(tmp_path, [moment])
    assert within_what_was_in_flight(site, 1), site.again


@pytest.mark.parametrize("taken", [0, 7])
def test_a_full_disk_is_told_of_the_checkpoint(
    taken: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also one that takes a part of an answer first, and says nothing."""
    room = [taken]

    def full(
        number: int, data: bytes, place: int, write: Callable[[int, bytes, int], int] = os.pwrite
    ) -> int:
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(number, data[: room.pop()], place)

    monkeypatch.chdir(tmp_path)
    site = Watched()
    with site.serving() as url:
        spec(url, tmp_path)
        monkeypatch.setattr(os, "pwrite", full)
        words = ["query", "SELECT id FROM r", "-s", "fff.yaml", "--checkpoint", "kept", "-O", "out.csv", "-q"]
        assert fff(words) == 2
    assert "error: cannot write the checkpoint 'kept': No space left on device" in capfd.readouterr().err
    assert not (tmp_path / "out.csv").exists()


def test_what_began_with_sql_behind_two_dashes_goes_on_with_more_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert fff(["query", "-q", "-o", "csv", "--checkpoint", "kept", "--", "-- a comment\nSELECT 1 AS a"]) == 0
    assert fff(["resume", "kept"]) == 0
    assert fff(["resume", "kept", "-o", "ndjson", "-O", "out"]) == 0
    assert (tmp_path / "out").read_text() == '{"a":1}\n'


def test_a_file_that_is_named_elsewhere_is_told_to_be_where_the_query_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("ran", "elsewhere"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "ran")
    assert fff(["query", "SELECT 1 AS a", "-q", "-O", "one.csv", "--checkpoint", "kept"]) == 0
    assert fff(["resume", "kept", "-O", "two.csv"]) == 0
    assert "note:" not in capfd.readouterr().err
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert fff(["resume", "../ran/kept", "-O", str(tmp_path / "three.csv")]) == 0
    assert "note:" not in capfd.readouterr().err
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert fff(["resume", "../ran/kept", "-O", "two.csv"]) == 0
    assert f"note: 'two.csv' is in '{tmp_path / 'ran'}', where the query ran" in capfd.readouterr().err
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_folder_of_other_things_is_no_place_for_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "thesis.tex").touch()
    assert fff(["query", "SELECT 1 AS a", "--checkpoint", "kept"]) == 2
    assert "error: 'kept' holds other things than a checkpoint: 'thesis.tex'" in capfd.readouterr().err
    assert [one.name for one in Path("kept").iterdir()] == ["thesis.tex"]
    (tmp_path / "kept" / "thesis.tex").rename(tmp_path / "kept" / "key")  # of a run that was killed early
    assert fff(["query", "SELECT 1 AS a", "--checkpoint", "kept", "-q"]) == 0


def test_what_failed_before_its_first_answer_may_be_begun_anew_in_the_same_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    client = {"base_url": "http://127.0.0.1:9", "retry": {"max_attempts": 1}}
    tables = {"t": {"columns": {"a": "int"}, "scan": {"endpoint": "t"}}}
    spec = {"version": 1, "sources": {"web": {"client": client, "tables": tables}}}
    (tmp_path / "down.yaml").write_text(json.dumps(spec), encoding="utf-8")
    begun = ["query", "SELECT 1 AS a", "--checkpoint", "kept", "-q", "-o", "csv"]
    assert fff(["query", "SELECT a FROM t", "-s", "down.yaml", *begun[2:]]) == 4
    assert (tmp_path / "kept" / "statement.json").exists(), "it can be gone on with when the server is up"
    assert fff(begun) == 0
    assert fff(["resume", "kept"]) == 0
    assert capfd.readouterr().out == "a\n1\n" * 2
    _kept(tmp_path / "kept", "a")
    assert fff(begun) == 2
    assert "'kept' holds a checkpoint already" in capfd.readouterr().err


@pytest.mark.slow
def test_what_has_ended_is_answered_again_without_a_request(tmp_path: Path) -> None:
    with ended(tmp_path) as (site, asked):
        assert resumed(tmp_path, "-O", "other.csv", "--report", "report.json").returncode == 0
        assert site.asked == asked
    (tmp_path / "other.csv").rename(tmp_path / "out.csv")
    assert result(tmp_path) == EXPECTED
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["complete"] is True
    assert sum(one["requests"] for one in report["access"]) == 0
    assert sum(one["cached"] for one in report["access"]) > 0


@pytest.mark.slow
def test_batches_whose_answers_were_not_taken_apart_are_not_asked_for_again(tmp_path: Path) -> None:
    with ended(tmp_path) as (site, asked):
        for file in (tmp_path / "kept" / "rows").glob("index.sqlite*"):
            file.unlink()  # what is known by key; the answers are in the journal
        done = resumed(tmp_path)
        assert done.returncode == 0, done.stderr
    assert site.asked == asked, site.again
    assert result(tmp_path) == EXPECTED


@pytest.mark.slow
def test_ctrl_c_ends_in_something_to_go_on_with(tmp_path: Path) -> None:
    site = Watched()
    with site.serving() as url:
        spec(url, tmp_path)
        process = begin(tmp_path, "--on-source-error", "partial")
        while site.asked < 20:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.wait(60)
        done = resumed(tmp_path)
        assert done.returncode == 0, done.stderr
        assert result(tmp_path) == EXPECTED
        assert within_what_was_in_flight(site, 1), site.again


def test_the_folder_is_its_owners_and_one_run_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kept = tmp_path / "kept"
    held = Journal(kept)
    with pytest.raises(UsageError, match="another run uses"):
        Journal(kept)
    held.close()
    (tmp_path / "r.csv").write_text("x\n1\n")
    assert fff(["query", "SELECT * FROM 'r.csv'", "--checkpoint", "kept", "-q"]) == 0
    for one in (kept, *kept.rglob("*")):
        assert not stat.S_IMODE(one.stat().st_mode) & 0o077, one


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["resume", "nowhere"], "there is no checkpoint in 'nowhere'"),
        (["query", "SELECT 1", "--checkpoint", "held"], "'held' holds a checkpoint already"),
        (["query", "SELECT 1", "--checkpoint", "new", "--cache"], "--checkpoint and --cache exclude"),
        (["query", "SELECT 1", "--checkpoint", "new", "--record", "x"], "--checkpoint and --record exclude"),
        (["resume", "damaged"], "is damaged"),
        (["resume", "moved"], "cannot go on in '/nowhere/at/all'"),
    ],
)
def test_what_cannot_be_gone_on_with_is_said(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    about = {"format": 1, "arguments": ["query", "SELECT 1"], "sql": ["SELECT 1"], "seed": 1}
    for name, text in (
        ("held", json.dumps({**about, "folder": str(tmp_path)})),
        ("damaged", "{"),
        ("moved", json.dumps({**about, "folder": "/nowhere/at/all"})),
    ):
        (tmp_path / name).mkdir(mode=0o700)
        (tmp_path / name / "statement.json").write_text(text)
    assert fff(words) == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_standard_input_is_no_table_of_a_checkpoint(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fff_cli", "query", "SELECT * FROM stdin", "--checkpoint", "kept"],
        cwd=tmp_path,
        input="x\n1\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "standard input comes once" in done.stderr


# ---------------------------------------------------------------------------------------------------- the journal


def _request(key: str = "a", token: str = "") -> Request:
    credentials = Credentials({"X-Key": token}, identity=token) if token else Credentials()
    return Request(f"http://x/{key}", credentials=credentials)


#: Bytes of the length and the signature before an answer.
_BEHIND = 24


def _kept(folder: Path, *keys: str) -> None:
    async def keep() -> None:
        journal = Journal(folder)
        for key in keys:
            name = journal.name(_request(key))
            await journal.keep(name, {"status": 200, "headers": {}, "url": None}, f"of {key}".encode())
        journal.close()

    asyncio.run(keep())


def _read(folder: Path, key: str) -> bytes | None:
    journal = Journal(folder)
    told = journal.take(journal.name(_request(key)))
    journal.close()
    return None if told is None else told[1]


@pytest.mark.parametrize("lost", [1, 20, 60])
def test_what_a_power_cut_left_of_the_last_answer_is_dropped_and_the_rest_holds(
    lost: int, tmp_path: Path
) -> None:
    _kept(tmp_path / "j", "a", "b")
    file = tmp_path / "j" / "journal"
    os.truncate(file, file.stat().st_size - lost)
    assert _read(tmp_path / "j", "b") is None
    assert _read(tmp_path / "j", "a") == b"of a"
    _kept(tmp_path / "j", "c")
    assert [_read(tmp_path / "j", key) for key in "abc"] == [b"of a", None, b"of c"]


def test_what_was_changed_on_the_disk_is_not_believed(tmp_path: Path) -> None:
    _kept(tmp_path / "j", "a", "b")
    file = tmp_path / "j" / "journal"
    data = bytearray(file.read_bytes())
    data[len(data) // 2 + 40] ^= 1
    file.write_bytes(data)
    assert _read(tmp_path / "j", "a") == b"of a"
    assert _read(tmp_path / "j", "b") is None


@pytest.mark.parametrize("front", range(0, 40, 3), ids=str)
def test_damage_of_one_answer_costs_that_one(front: int, tmp_path: Path) -> None:
    """Wherever it is: in the length, the signature or what stands behind them."""
    _kept(tmp_path / "j", "a", "b", "c", "d")
    file = tmp_path / "j" / "journal"
    data = bytearray(file.read_bytes())
    second = _BEHIND + int.from_bytes(data[:8], "big")
    data[second + front] ^= 1 + front
    file.write_bytes(data)
    for _ in range(2):
        assert [_read(tmp_path / "j", key) for key in "abcd"] == [b"of a", None, b"of c", b"of d"]
        assert file.stat().st_size == len(data)
    _kept(tmp_path / "j", "b")
    assert [_read(tmp_path / "j", key) for key in "abcd"] == [b"of a", b"of b", b"of c", b"of d"]


def test_a_journal_that_another_key_has_signed_is_put_aside(tmp_path: Path) -> None:
    _kept(tmp_path / "j", "a", "b")
    folder = tmp_path / "j"
    before = (folder / "journal").read_bytes()
    key = (folder / "key").read_bytes()
    (folder / "key").unlink()
    assert _read(folder, "a") is None
    assert (folder / "journal.broken").read_bytes() == before
    assert stat.S_IMODE((folder / "journal.broken").stat().st_mode) == 0o600
    (folder / "key").write_bytes(key)
    (folder / "journal.broken").replace(folder / "journal")
    assert _read(folder, "b") == b"of b"


def test_a_journal_of_another_key_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever looks like the size of a record within one: else large journals would take hours."""
    _kept(tmp_path / "j", *map(str, range(40)))
    (tmp_path / "j" / "key").unlink()
    size, hashed = (tmp_path / "j" / "journal").stat().st_size, 0
    digest = Journal._mac

    def counting(journal: Journal, data: bytes) -> bytes:
        nonlocal hashed
        hashed += len(data)
        return digest(journal, data)

    monkeypatch.setattr(Journal, "_mac", counting)
    Journal(tmp_path / "j").close()
    assert hashed <= size


def test_zeros_that_a_power_cut_left_are_passed_over_and_what_is_behind_them_holds(tmp_path: Path) -> None:
    _kept(tmp_path / "j", "a", "b", "c")
    file = tmp_path / "j" / "journal"
    data = file.read_bytes()
    second = _BEHIND + int.from_bytes(data[:8], "big")
    for zeros in (*range(1, 12), 64 << 20):
        with file.open("wb") as out:  # sparse
            out.write(data[:second])
            out.seek(zeros, os.SEEK_CUR)
            out.write(data[second:])
        assert [_read(tmp_path / "j", key) for key in "abc"] == [b"of a", b"of b", b"of c"]


def test_equal_requests_have_their_answers_in_the_order_they_came_and_others_none(tmp_path: Path) -> None:
    async def keep() -> None:
        journal = Journal(tmp_path / "j")
        for body in (b"1", b"2"):
            await journal.keep(journal.name(_request()), {"status": 200, "headers": {}, "url": None}, body)
        journal.close()

    asyncio.run(keep())
    journal = Journal(tmp_path / "j")
    told = [journal.take(journal.name(_request())) for _ in range(3)]
    assert [one and one[1] for one in told] == [b"1", b"2", None]
    assert journal.name(_request(token="t")) != journal.name(_request())
    journal.close()


class Echo:
    """Answers with what it was asked with. Implements `Transport`."""

    def __init__(self) -> None:
        self.sent = 0

    async def send(self, out: Outgoing) -> RawResponse:
        self.sent += 1
        return RawResponse(200, {"x-asked": out.url}, json.dumps(dict(out.headers)).encode())

    async def close(self) -> None:
        pass


class Nothing:
    """Remembers nothing. Implements `ResponseMemory`."""

    is_empty = True

    async def find(self, name: bytes) -> None:
        return None

    async def keep(self, name: bytes, table: tuple[str, str], answer: object) -> None:
        pass

    def renew(self, name: bytes) -> None:
        pass


@pytest.mark.parametrize(
    ("secret", "memory", "again"),
    [("", Nothing(), 1), ("s3cr/et key", Nothing(), 2), ("", None, 2)],
    ids=["an answer is kept", "one that repeats a secret is not", "nor is one that is no data, as a token"],
)
def test_what_is_kept(secret: str, memory: Nothing | None, again: int, tmp_path: Path) -> None:
    echo = Echo()

    async def ask() -> list[bytes]:
        answers = []
        for _ in range(2):
            client = JournaledClient(Journal(tmp_path / "j"), echo)
            client.redactor.add("s3cr/et key")
            request = replace(_request(token=secret), memory=memory)
            answers.append((await client.request(request, meter=AccessMeter())).body)
            await client.close()
        return answers

    first, second = asyncio.run(ask())
    assert first == second
    assert echo.sent == again
    assert b"s3cr" not in (tmp_path / "j" / "journal").read_bytes()


def test_going_on_with_what_has_ended_adds_no_row_twice(tmp_path: Path) -> None:
    site = Watched()
    with site.serving() as url:
        spec(url, tmp_path)
        assert begin(tmp_path, "--append").wait(120) == 0
        once = (tmp_path / "out.csv").read_bytes()
        again = resumed(tmp_path)
        assert again.returncode == 2
        assert "has been added to 'out.csv'" in again.stderr
        assert "--upsert" in again.stderr
        assert (tmp_path / "out.csv").read_bytes() == once
        assert resumed(tmp_path, "-O", "other.csv").returncode == 0
        other = (tmp_path / "other.csv").read_bytes()
        assert sorted(other.splitlines()) == sorted(once.splitlines())
