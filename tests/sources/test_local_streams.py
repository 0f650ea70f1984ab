"""Files of this machine are read piece by piece: the same rows, types and errors as if they were read at once."""

from __future__ import annotations

import asyncio
import gzip
import io
import os
import random
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fff.errors import SourceError
from fff.federation import Federation
from fff_sources.files import local, named
from fff_sources.files.local import LocalFiles
from fff_sources.http.response import streaming
from tests.engine.site import run
from tests.sampling import every
from tests.sources.arriving import csv_of
from tests.sources.local import rows as local_rows
from tests.sources.reading import Reader

PIECE = 200
WHOLE = streaming.PIECE


def zipped(body: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside", body)
    return out.getvalue()


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": lambda body: gzip.compress(body[:300]) + gzip.compress(body[300:]) + bytes(700),
    ".zip": zipped,
    ".zst": lambda body: pa.compress(body, "zstd", asbytes=True),
}


def spec(table: str, limit: float = 256) -> str:
    return f"{{version: 1, sources: {{s: {{type: files, client: {{max_body_mb: {limit}}}, tables: {{t: {table}}}}}}}}}"


async def found(folder: Path, table: str, limit: float = 256) -> tuple[object, ...]:
    """Types, rows and bad records of a file, or what is wrong with it."""
    reader = Reader(spec(table, limit), folder)
    try:
        await reader.catalog.discover([reader.table("t")])
        rows = await reader.scan("t", window=3)
    except SourceError as error:
        return (error.reason, error.hint)
    types = {column.name: column.type for column in reader.table("t").columns}
    return types, [list(map(repr, row.values())) for row in rows], reader.meter.bad_records


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes files have given, part by part."""
    parts: list[int] = []
    right = LocalFiles._parts

    def counted(self: LocalFiles, path: str) -> Iterator[bytes]:
        for part in right(self, path):
            parts.append(len(part))
            yield part

    monkeypatch.setattr(LocalFiles, "_parts", counted)
    return parts


def bodies(rng: random.Random) -> Iterator[tuple[str, str, bytes]]:
    """Formats, what a spec says of the table, and a text."""
    text, rows = csv_of(rng.randrange(200), rng)
    plain = b"n,word\n" + b"".join(b"%d,%d\n" % (n, n * 7) for n in range(len(rows)))
    late = plain + b"9,007\n"
    lines = b"".join(b'{"n": %d, "word": "x"}\n' % n for n in range(len(rows)))
    columns = "columns: {n: int, word: string}"
    yield "csv", "comment: '#'", text
    yield "csv", f"comment: '#', {columns}", text
    yield "csv", "skip_rows: 2", plain
    yield "csv", "", late  # the last value of all is a text
    yield "csv", "", plain.replace(b"\n", b"\r\n")
    yield "csv", "encoding: latin-1", plain + "1,Zürich\n".encode("latin-1")
    yield "csv", "encoding: utf-16", plain.decode().encode("utf-16")
    yield "csv", "skip_rows: 1", plain + b'1,a "quoted" word\n' * 40 + plain[7:]
    yield "csv", "skip_rows: 1", plain.replace(b"\n", b'\n1,a "quoted" word\n')
    yield "ndjson", "", lines
    yield "ndjson", "", lines + b'{"n": 1.5, "other": null}\n'
    yield "csv", "on_bad_record: skip, columns: {n: int, word: int}", late + b"x,1\n,y\n" * 30
    yield "ndjson", f"on_bad_record: 'null', {columns}", lines + b'{"n": "x"}\n' * 30
    for more in ("", f", {columns}"):
        yield "csv", "on_bad_record: fail" + more, plain + b"1,2,3\n" + plain  # a row of three
        yield "csv", "on_bad_record: fail" + more, plain + b'1,"open\n' + plain
        yield "csv", "on_bad_record: skip" + more, plain + b"1,2,3\n4\n" * 20 + plain[7:]
        yield "csv", "on_bad_record: 'null'" + more, plain + b'1,"a\nb",3\n5,6\n' * 20 + plain[7:]
        yield "csv", "on_bad_record: skip" + more, plain + b'1,2,"open\n' + plain
        yield "csv", "on_bad_record: fail" + more, plain + b"1,\xff\n"
        yield "ndjson", "on_bad_record: fail" + more, lines + b'{"n": 1\n' + lines
    yield "csv", "columns: {n: int}", plain + b"x,1\n" + plain[7:]
    yield "csv", "", b""
    yield "csv", columns, b""
    yield "csv", "", b"n"
    yield "ndjson", columns, b""


@pytest.mark.parametrize("ending", every(2, PACKED))
@pytest.mark.parametrize("seed", every(3, range(3)))
async def test_pieces_say_what_the_whole_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, seed: int
) -> None:
    for number, (form, more, body) in enumerate(bodies(random.Random(seed))):
        name = f"{number}.{form}{ending}"
        (tmp_path / name).write_bytes(PACKED[ending](body))
        table = f"{{path: {name}, {more}}}"
        monkeypatch.setattr(streaming, "PIECE", WHOLE)
        whole = await found(tmp_path, table)
        monkeypatch.setattr(streaming, "PIECE", PIECE)
        assert await found(tmp_path, table) == whole, (more, body)


@pytest.mark.parametrize("ending", every(2, PACKED))
async def test_what_is_damaged_or_too_large_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    body = b"n\n" + b"".join(b"%d\n" % n for n in random.Random(1).choices(range(10**9), k=1_500))
    packed = PACKED[ending](body)
    (tmp_path / f"all.csv{ending}").write_bytes(packed)
    (tmp_path / f"half.csv{ending}").write_bytes(packed[: len(packed) // 2])
    (tmp_path / f"behind.csv{ending}").write_bytes(packed + b"7\n")
    for piece in (WHOLE, PIECE):
        monkeypatch.setattr(streaming, "PIECE", piece)
        for more in ("", ", columns: {n: int}"):
            table = f"{{path: all.csv{ending}{more}}}"
            assert "larger than 0 MB" in str(await found(tmp_path, table, limit=0.01))
            assert len(await found(tmp_path, table)) == 3
            if ending:
                said = str(await found(tmp_path, f"{{path: half.csv{ending}{more}}}"))
                assert "cannot be unpacked" in said or "Truncated" in said
            if ending == ".gz":
                assert "behind what is packed" in str(await found(tmp_path, f"{{path: behind.csv.gz{more}}}"))


@pytest.mark.parametrize("form", ["csv", "ndjson"])
@pytest.mark.parametrize("ending", every(2, PACKED))
async def test_a_limit_reads_no_more_than_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: list[int], form: str, ending: str
) -> None:
    monkeypatch.setattr(streaming, "PIECE", 2**12)
    rows = range(200_000)
    body = b"n\n" + b"".join(b"%d\n" % n for n in rows)
    if form == "ndjson":
        body = b"".join(b'{"n": %d}\n' % n for n in rows)
    (tmp_path / f"t.{form}{ending}").write_bytes(PACKED[ending](body))
    reader = Reader(spec(f"{{path: t.{form}{ending}, columns: {{n: int}}}}"), tmp_path)
    async with Federation(reader.catalog, reader.client) as here:
        few, execution = await run(here, "SELECT n FROM t WHERE n % 2 = 0 LIMIT 10")
        assert execution.outcome.complete
        assert len(few) == 10
        assert all(n % 2 == 0 for (n,) in few)
        assert 0 < sum(read) < len(body) / 10


async def test_a_file_is_read_no_further_than_somebody_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: list[int]
) -> None:
    monkeypatch.setattr(streaming, "PIECE", PIECE)
    (tmp_path / "t.csv").write_bytes(b"n\n" + b"1\n" * 20_000)
    reader = Reader(spec("{paths: [t.csv, t.csv, t.csv], columns: {n: int}}"), tmp_path)
    table, rows = reader.table("t"), 0
    pages = reader.catalog.adapter_of(table).scan(table, table.scans[0], ["n"], meter=reader.meter, window=3)
    async with aclosing(pages) as opened:  # type: ignore[type-var]  # an async generator
        async for page in opened:
            rows += len(page.rows)
            for _ in range(3):  # whoever may read on has the time to
                await asyncio.to_thread(int)
            if rows < 20_000:  # of the first file; two others wait with their first pieces
                assert sum(read) <= 2 * rows + 12 * PIECE
    assert rows == 60_000


@pytest.mark.parametrize("form", ["csv", "ndjson"])
async def test_types_are_found_in_a_file_that_is_never_held_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: list[int], form: str
) -> None:
    monkeypatch.setattr(streaming, "PIECE", 2**12)
    body = b"n\n" + b"1\n" * 50_000 + b"x\n"
    if form == "ndjson":
        body = b'{"n": 1}\n' * 50_000 + b'{"n": "x"}\n'
    (tmp_path / f"t.{form}").write_bytes(body)
    largest = 0
    right = streaming.Arriving._take

    def watched(self: streaming.Arriving, data: bytes) -> None:
        nonlocal largest
        right(self, data)
        largest = max(largest, self._waits)

    monkeypatch.setattr(streaming.Arriving, "_take", watched)
    reader = Reader(spec(f"{{path: t.{form}}}"), tmp_path)
    await reader.catalog.discover([reader.table("t")])
    assert [column.type for column in reader.table("t").columns] == ["string"]
    assert sum(read) == len(body)
    assert 0 < largest < 2**14
    assert len(await reader.scan("t")) == 50_001


async def test_a_pipe_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PIECE", PIECE)
    pipe = tmp_path / "t.ndjson"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b'{"n": 1}\n' * 500,))
    writer.start()
    result: Any = await found(tmp_path, "{path: t.ndjson}")
    writer.join()
    assert result[0] == {"n": "bigint"}
    assert len(result[1]) == 500


async def test_standard_input_is_there_for_every_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "PIECE", PIECE)
    monkeypatch.setattr(local, "_piped", lambda _: b"n\n" + b"1\n" * 500)
    for _ in range(2):
        result: Any = await found(tmp_path, "{path: '-', format: csv}")
        assert len(result[1]) == 500


@pytest.mark.parametrize(
    ("piped", "expected"),
    [
        (b'{\n  "a": 1,\n  "b": [2]\n}\n', [(1, "[2]")]),
        (b'{"a": 1}\n{"a": 2}\n', [(1,), (2,)]),
        (b'[{"a": 1},\n {"a": 2}]', [(1,), (2,)]),
        (b'{"a": 1, "b": "' + b"x" * WHOLE + b'"}\n{"a": 2}\n', 2),
    ],
)
async def test_documents_and_lines_of_json_are_told_apart_however_they_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piped: bytes, expected: Any
) -> None:
    monkeypatch.setattr(local, "_piped", lambda _: piped)
    monkeypatch.setattr(named, "_is_piped", lambda: True)
    (tmp_path / "t.json").write_bytes(piped)
    for name in ("stdin", "'t.json'", "json.`t.json`"):
        got = await local_rows(tmp_path, f"SELECT * FROM {name}")
        assert got == expected or len(got) == expected


@pytest.mark.parametrize(
    ("body", "is_whole"),
    [
        (b'[{"a": 1}' + b', {"a": 1}' * 500_000 + b"]", False),
        (b'\xef\xbb\xbf\n [{"a": 1}' + b', {"a": 1}' * 500_000 + b"]", False),
        (b'{"a": "' + b"x" * 5_000_000 + b'"}\n{"a": 2}\n', True),
        (b"column," * 700_000 + b"last\n1", True),
    ],
    ids=["array", "marked", "lines", "csv"],
)
def test_a_file_is_looked_at_no_further_than_tells_what_it_is(
    tmp_path: Path, body: bytes, is_whole: bool
) -> None:
    (tmp_path / "a").write_bytes(body)
    start = local.LocalFiles("f", "t", local.LARGEST).start(str(tmp_path / "a"))
    assert (b"\n" in start[10:]) == is_whole
    assert is_whole or len(start) < 3_000_000
    assert local.form_of(start) == local.form_of(body)


@pytest.mark.parametrize(
    ("piped", "said"), [(b"", "nothing is piped in"), (b"[1]", "holds nothing to tell columns from")]
)
async def test_what_is_piped_in_and_has_no_columns_is_not_taken_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piped: bytes, said: str
) -> None:
    monkeypatch.setattr(local, "_piped", lambda _: piped)
    monkeypatch.setattr(named, "_is_piped", lambda: True)
    with pytest.raises(SourceError, match=said):
        await local_rows(tmp_path, "SELECT * FROM stdin")
