"""The framings of answers: Arrow, NDJSON, server-sent events, JSON, and that of `fff query --server`.

Each has a last part that says whether the rows are the whole answer, and a transfer without it is not whole.
Arrow alone has no place for it at which every reader looks: there, what is incomplete ends as a transfer that
breaks off, unless the client asked for partial answers.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Protocol, TypeAlias, cast

import pyarrow as pa

from fff.display.html import safe_text
from fff.errors import UsageError
from fff.schema import distinct_names
from fff.stats import MISSING, Snapshot
from fff_cli.mcp.replies import json_rows
from fff_cli.output.console import Screen
from fff_cli.output.formats import Writer, write_batches, writer
from fff_cli.output.streams import HeldBytes
from fff_cli.run.account import account_lines, closing_lines, spark_lines
from fff_cli.serve.queries import ServedQuery, progress_of

Schema: TypeAlias = pa.Schema
Batch: TypeAlias = pa.RecordBatch

ARROW, NDJSON = "application/vnd.apache.arrow.stream", "application/x-ndjson"
EVENTS, JSON = "text/event-stream", "application/json"
FRAMES = "application/vnd.fff.frames"
#: The key of the last batch's metadata, in Arrow.
METADATA = b"fff"
_ROWS_AT_ONCE = 5_000
_SAMPLE_ROWS = 50
_VALUE_WIDTH = 200  # characters of a value in a snapshot


class Framing(Protocol):
    """How an answer is written. None in place of the last part: the transfer is to break off."""

    content_type: str
    snapshots: bool
    at_once: bool  # begin to answer before there is anything of the result

    def begin(self, schema: Schema) -> bytes:
        """What comes before rows; once."""

    def rows(self, batch: Batch) -> bytes:
        """Rows."""

    def snapshot(self, snapshot: Snapshot) -> bytes:
        """How far the query is, where `snapshots` are wanted."""

    def end(self, query: ServedQuery) -> bytes | None:
        """The last part, after all rows."""

    def failed(self, error: Mapping[str, Any]) -> bytes | None:
        """The last part where there is no answer after all."""


def _dumps(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
    except ValueError:  # a NaN inside of an array, which JSON has not
        return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, default=str)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value


def _header(schema: Schema) -> list[dict[str, str]]:
    names = distinct_names(schema.names, str)
    return [{"name": name, "type": str(one.type)} for name, one in zip(names, schema, strict=True)]


def _failed(error: Mapping[str, Any]) -> dict[str, Any]:
    return {"complete": False, "error": dict(error)}


class _Parts:
    """A framing without snapshots."""

    snapshots = False
    at_once = False

    def snapshot(self, snapshot: Snapshot) -> bytes:
        """Nobody asks for it."""
        del snapshot
        return b""


class ArrowFraming(_Parts):
    """An Arrow IPC stream; the metadata of its last batch, which is empty, are the last part."""

    content_type = ARROW

    def __init__(self, *, partial: bool) -> None:
        self._partial = partial
        self._held = HeldBytes()
        self._stream: Any = None
        self._empty: Any = None

    def begin(self, schema: Schema) -> bytes:
        """The schema."""
        self._stream = pa.ipc.new_stream(self._held, schema)
        self._empty = pa.RecordBatch.from_pylist([], schema)
        return self._held.take()

    def rows(self, batch: Batch) -> bytes:
        """A batch."""
        if len(batch):
            self._stream.write_batch(batch)
        return self._held.take()

    def end(self, query: ServedQuery) -> bytes | None:
        """The last batch and the end mark; neither where rows lack and nobody asked for a part."""
        end = query.end()
        if not end["complete"] and not self._partial:
            return None
        self._stream.write_batch(self._empty, custom_metadata={METADATA: _dumps(end)})
        self._stream.close()
        return self._held.take()

    def failed(self, error: Mapping[str, Any]) -> bytes | None:
        """Readers of Arrow know no errors."""
        del error
        return None


class NdjsonFraming(_Parts):
    """Lines `{"columns": …}`, `{"row": {…}}` each, and `{"end": …}`: no line is a row by itself."""

    content_type = NDJSON

    def __init__(self) -> None:
        self._names: list[str] = []

    def begin(self, schema: Schema) -> bytes:
        """The columns."""
        header = _header(schema)
        self._names = [one["name"] for one in header]
        return _line({"columns": header})

    def rows(self, batch: Batch) -> bytes:
        """A line for each row."""
        rows = json_rows(pa.Table.from_batches([batch]))
        return b"".join(_line({"row": dict(zip(self._names, row, strict=True))}) for row in rows)

    def end(self, query: ServedQuery) -> bytes | None:
        """The last line."""
        return _line({"end": query.end()})

    def failed(self, error: Mapping[str, Any]) -> bytes | None:
        """The last line."""
        return _line({"end": _failed(error)})


def _line(value: object) -> bytes:
    return _dumps(value).encode() + b"\n"


class JsonFraming(_Parts):
    """One object: columns, rows as lists, and behind them the members of the last part; without it, no JSON."""

    content_type = JSON

    def __init__(self) -> None:
        self._between = ""

    def begin(self, schema: Schema) -> bytes:
        """The columns."""
        return f'{{"columns":{_dumps(_header(schema))},"rows":['.encode()

    def rows(self, batch: Batch) -> bytes:
        """Lists."""
        parts = [_dumps(row) for row in json_rows(pa.Table.from_batches([batch]))]
        if not parts:
            return b""
        between, self._between = self._between, ",\n"
        return (between + ",\n".join(parts)).encode()

    def end(self, query: ServedQuery) -> bytes | None:
        """The other members."""
        return self._closed(query.end())

    def failed(self, error: Mapping[str, Any]) -> bytes | None:
        """The other members."""
        return self._closed(_failed(error))

    @staticmethod
    def _closed(end: Mapping[str, Any]) -> bytes:
        return f"],{_dumps(end)[1:]}\n".encode()


class EventFraming:
    """Server-sent events: `snapshot` and `columns`, `rows` as lists, and as the last one `end` or `error`."""

    content_type = EVENTS
    snapshots = True
    at_once = False

    def begin(self, schema: Schema) -> bytes:
        """The columns."""
        return _event("columns", _header(schema))

    def rows(self, batch: Batch) -> bytes:
        """Some rows at once."""
        pieces = (batch.slice(at, _ROWS_AT_ONCE) for at in range(0, len(batch), _ROWS_AT_ONCE))
        return b"".join(_event("rows", json_rows(pa.Table.from_batches([one]))) for one in pieces)

    def snapshot(self, snapshot: Snapshot) -> bytes:
        """How far the query is, and some of its rows or groups as they are by now, as text."""
        sample = [
            [None if value is None or value is MISSING else safe_text(value, _VALUE_WIDTH) for value in row]
            for row in snapshot.sample[:_SAMPLE_ROWS]
        ]
        shown = {"columns": snapshot.columns, "sample_is": snapshot.sample_is, "sample": sample}
        return _event("snapshot", progress_of(snapshot) | shown)

    def end(self, query: ServedQuery) -> bytes | None:
        """The last event."""
        return _event("end", query.end())

    def failed(self, error: Mapping[str, Any]) -> bytes | None:
        """The last event."""
        return _event("error", _failed(error))


def _event(name: str, value: object) -> bytes:
    return f"event: {name}\ndata: {_dumps(value)}\n\n".encode()


class FrameFraming:
    """The bytes of a result format, as `fff query` would write them, between parts of other kinds.

    Each part is a letter, the length of what follows in four bytes, and that: `r` result bytes, `s` how far
    the query is, `e` the last part, `x` an error as the last part.
    """

    content_type = FRAMES
    at_once = True

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._held = HeldBytes()
        try:
            self._writer = self._writer_of(settings)
        except (TypeError, ValueError, OverflowError, LookupError):
            raise UsageError(
                "output is not what `fff query --server` says of its output", hint="leave it out, or run that"
            ) from None
        self._schema: Any = None
        self._begun = False
        self.snapshots = bool(settings.get("progress", False))

    def _writer_of(self, settings: Mapping[str, Any]) -> Writer:
        screen = settings.get("screen")
        return writer(
            str(settings.get("format", "csv")),
            cast("BinaryIO", self._held),
            None if screen is None else Screen(int(screen[0]), bool(screen[1]), bool(screen[2])),
            rows=int(settings.get("rows") or 40),
            more=str(settings.get("more", "")),
            text_cells=bool(settings.get("safe_csv", False)),
        )

    def begin(self, schema: Schema) -> bytes:
        """Nothing: a query that fails before its first row writes no header either."""
        self._schema = schema
        return b""

    def rows(self, batch: Batch) -> bytes:
        """The rows as text, or whatever the format has."""
        if not len(batch):
            return b""
        self._header()
        write_batches(self._writer, batch)
        return self._taken()

    def _header(self) -> None:
        if not self._begun:
            self._writer.begin(self._schema)
            self._begun = True

    def _taken(self) -> bytes:
        data = self._held.take()
        return _frame(b"r", data) if data else b""

    def snapshot(self, snapshot: Snapshot) -> bytes:
        """As one line tells it."""
        return _frame(b"s", _dumps(progress_of(snapshot)).encode())

    def end(self, query: ServedQuery) -> bytes | None:
        """What the format writes last, and what is told on standard error."""
        self._header()
        self._writer.end()
        outcome, execution = query.outcome, query.execution
        assert outcome is not None, "the query has not ended"
        assert execution is not None, "nor begun"
        snapshot = execution.snapshot()
        summary = {
            "closing": closing_lines(outcome, snapshot.access),
            "accounts": [*account_lines(snapshot.access), *spark_lines(snapshot)],
            "policy": f"  policy {snapshot.policy}, seed {snapshot.seed}",
        }
        return self._taken() + _frame(b"e", _dumps(query.end() | summary).encode())

    def failed(self, error: Mapping[str, Any]) -> bytes | None:
        """The error as it is told."""
        return _frame(b"x", _dumps(error).encode())


def _frame(kind: bytes, data: bytes) -> bytes:
    return kind + struct.pack(">I", len(data)) + data


#: By media type, what makes the framing of a query, also by what its client says of output.
FRAMINGS: dict[str, Callable[[bool, Mapping[str, Any]], Framing]] = {
    JSON: lambda _partial, _settings: JsonFraming(),
    NDJSON: lambda _partial, _settings: NdjsonFraming(),
    ARROW: lambda partial, _settings: ArrowFraming(partial=partial),
    EVENTS: lambda _partial, _settings: EventFraming(),
    FRAMES: lambda _partial, settings: FrameFraming(settings),
}


def accepted(header: str) -> str | None:
    """The media type that a client accepts, the first where it names several; None where it takes none of ours.

    Weights (`q=`) count, but for equal ones the order does.
    """
    wanted: list[tuple[float, str]] = []
    for part in header.lower().split(","):
        kind, *parameters = (one.strip() for one in part.split(";"))
        quality = next((one[2:] for one in parameters if one.startswith("q=")), "1")
        try:
            wanted.append((float(quality), kind))
        except ValueError:
            continue
    for weight, kind in sorted(wanted, key=lambda one: -one[0]):
        if weight <= 0:
            continue
        if kind in FRAMINGS:
            return kind
        if kind in ("*/*", "", "application/*"):
            return JSON
        if kind == "text/*":
            return EVENTS
    return None
