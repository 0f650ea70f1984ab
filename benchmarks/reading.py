"""Bodies to Arrow columns against msgspec and pyarrow by hand: 3 of 30 columns.

    python -m benchmarks.reading [--rows N]

Large bodies of lines come in chunks, as from a socket. Seconds of processor.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import time
from collections.abc import Callable

import msgspec
import pyarrow as pa
import pyarrow.csv as pacsv

from fff.schema import Field
from fff.stats import AccessMeter
from fff.web.types import Response
from fff_sources.http.response.bodies import BodyDecoder, BodyFormat
from fff_sources.http.response.fast import ColumnPlan
from fff_sources.http.response.jsonpath import parse_path
from fff_sources.http.response.records import Origin, RecordDecoder
from fff_sources.http.response.streaming import Arriving

URL = "http://bench"
CHUNK = 65_536
COLUMNS = {"c3": "bigint", "c4": "string", "c5": "double"}
Timed = Callable[[], float]


class Row(msgspec.Struct, gc=False):
    """What a program by hand would declare."""

    c3: int | None = None
    c4: str | None = None
    c5: float | None = None


class Rows(msgspec.Struct):
    """The same with what stands around."""

    items: list[Row]


def records(count: int) -> list[dict[str, object]]:
    """Integers, short texts and floating point in turn."""
    kinds: list[Callable[[int, int], object]] = [
        lambda row, place: (row * 31 + place) % 10_007,
        lambda row, place: f"text {(row * 17 + place) % 100_000}",
        lambda row, place: row * place % 1000 / 8,
    ]
    return [{f"c{place}": kinds[place % 3](row, place) for place in range(30)} for row in range(count)]


def bodies(count: int) -> dict[str, bytes]:
    """The same records in each format."""
    rows = records(count)
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    return {
        "json": json.dumps({"items": rows}).encode(),
        "ndjson": b"".join(json.dumps(row).encode() + b"\n" for row in rows),
        "csv": ("\n".join(lines) + "\n").encode(),
    }


def by_fff(form: str, body: bytes) -> int:
    """How many rows the sources' own code reads."""
    columns = [ColumnPlan(Field.of(name, kind), parse_path(name)) for name, kind in COLUMNS.items()]
    selector = parse_path("items") if form == "json" else parse_path("$")
    reader = BodyDecoder(BodyFormat(form, selector), RecordDecoder(columns, "fail"))
    origin, meter = Origin("bench", "t", URL), AccessMeter()

    def read(answer: Response, line: int = 0, lines: int | None = None) -> int:
        return sum(
            block.rows.num_rows
            for block in reader.blocks(answer, meter=meter, origin=origin, line=line, lines=lines)
        )

    whole = Response(200, {}, body, URL)
    if form == "json":
        return read(whole)

    async def arriving() -> int:
        arrivals = Arriving("," if form == "csv" else None)
        arrivals.begin({})
        answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()

        async def receive() -> None:
            for at in range(0, len(body), CHUNK):
                arrivals.take(body[at : at + CHUNK])
                await asyncio.sleep(0)
            answer.set_result(whole)

        receiving = asyncio.create_task(receive())
        rows = 0
        async for piece in arrivals.whole_pieces(answer):
            rows += read(piece.response, piece.line, piece.lines)
        await receiving
        rest = arrivals.rest(whole)
        return rows + read(rest.response, rest.line, rest.lines)

    return asyncio.run(arriving())


def by_hand(form: str, body: bytes) -> int:
    """How many rows a short program with the fitting library reads."""
    if form == "csv":
        options = pacsv.ConvertOptions(include_columns=list(COLUMNS))
        read = pacsv.ReadOptions(use_threads=False)
        found: int = pacsv.read_csv(io.BytesIO(body), read_options=read, convert_options=options).num_rows
        return found
    if form == "json":
        rows = msgspec.json.decode(body, type=Rows).items
    else:
        rows = msgspec.json.Decoder(Row).decode_lines(body)
    count: int = pa.record_batch({name: [getattr(row, name) for row in rows] for name in COLUMNS}).num_rows
    return count


def timed(read: Callable[[str, bytes], int], form: str, body: bytes, rows: int) -> float:
    """Seconds of processor."""
    started = time.process_time()
    assert read(form, body) == rows
    return time.process_time() - started


def main() -> None:
    """Print ratios, the best of three each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    rows = parser.parse_args().rows
    for form, body in bodies(rows).items():
        ours, theirs = (min(timed(read, form, body, rows) for _ in range(3)) for read in (by_fff, by_hand))
        print(f"{form:8}{ours:8.3f} s {theirs:8.3f} s {ours / theirs:6.2f}")


if __name__ == "__main__":
    main()
