"""Records to Arrow columns: the fast route for records as declared, and a careful one for the rest.

Fast: one msgspec struct of just the needed columns, then one Arrow array a column. It takes only values that
have the declared type already. When a page has others, the same page goes the careful way: every needed value
as raw JSON text, each column tried as a whole and, where that fails, value by value under the rules of
`values`, so that a bad value is found and named. A source whose every page needs care (numbers sent as text)
is read carefully from then on.
"""

from __future__ import annotations

import contextlib
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Literal

import pyarrow as pa

from fff.errors import SourceError
from fff.schema import ArrowType, spark_type
from fff.stats import AccessMeter
from fff.structs import Struct, field, lazy_pattern
from fff.structs import field as struct_field
from fff_sources.http.response import values
from fff_sources.http.response.fast import (
    Array,
    Batch,
    ColumnPlan,
    batch_of,
    fast_reader,
    fast_type,
    plain_array,
)
from fff_sources.http.response.json import (
    Decoder,
    MalformedJSON,
    Raw,
    WrongShape,
    array_of,
    decode,
    defstruct,
    is_field_name,
)
from fff_sources.http.response.jsonpath import Envelope, JsonPath, first, kind_of
from fff_sources.http.response.members import Members, arrays_in, has_member
from fff_sources.http.response.text.cell_types import strangers

OnBad = Literal["fail", "null", "skip"]

_ABSENT = Raw(b"")  # told apart from null, which is a value
_HELD = 2**53  # from which a double does not hold every whole number
_BY_DOUBLE = lazy_pattern(rb"[.eE]")  # in the text of a number that is no whole one to the reader of JSON
NONE_OF_THEM = " has none of the table's columns"
ERROR_ALONE = " has an error in their place beside the key"


class Origin(Struct, frozen=True):
    """Whose records these are, for error messages."""

    source: str
    table: str
    url: str
    start: int = 0  # records of this access that came before these
    shown: Callable[[str], str] = str  # takes the secrets out of the URL, when somebody looks
    redact: Callable[[str], str] = str  # and out of what the source wrote

    def after(self, records: int) -> Origin:
        """Of what follows so many of them."""
        if not records:
            return self
        return Origin(self.source, self.table, self.url, self.start + records, self.shown, self.redact)

    def error(self, message: str, hint: str | None = None) -> SourceError:
        """An error about these records."""
        return SourceError(
            self.redact(message), source=self.source, table=self.table, url=self.shown(self.url), hint=hint
        )


class _Column(Struct):
    """A column on its way: values for Arrow, and what is wrong with which row."""

    values: list[Any] | Array
    bad: dict[int, str] = field(default_factory=dict)


class RecordDecoder:
    """Reads one set of columns out of records.

    Args:
        columns: what to read, in order.
        on_bad: what becomes of a record that does not fit.
        filled: columns that take the value asked for when a record does not have them.
        members: tells records from other objects; None: all are records.
        found: whether the types of columns are those that other texts had, and nobody declares them: a text
            that loses something as such a value does not fit.
    """

    def __init__(
        self,
        columns: Sequence[ColumnPlan],
        on_bad: OnBad,
        filled: frozenset[str] = frozenset(),
        members: Members | None = None,
        *,
        found: bool = False,
    ) -> None:
        self.columns = tuple(columns)
        self.filled = filled
        self._declared = frozenset(column.field.name for column in self.columns) - filled
        self.members = members
        self._on_bad = on_bad
        self._found = found
        self._filled = frozenset(i for i, column in enumerate(self.columns) if column.field.name in filled)
        cut = any(column.path.pattern is not None for column in self.columns)
        keys = frozenset() if members is None else members.keys
        asked = frozenset(i for i, column in enumerate(self.columns) if _top(column.path) in keys)
        self._fast = None if cut else fast_reader(self.columns, self._filled, asked)
        tops = dict.fromkeys(top for column in self.columns if (top := _top(column.path)) is not None)
        self._slots = {name: f"f{i}" for i, name in enumerate(tops) if is_field_name(name)}
        fields = [(slot, Raw, struct_field(default=_ABSENT, name=name)) for name, slot in self._slots.items()]
        self._record = Decoder(defstruct("Record", fields, gc=False))
        self._records = Decoder(list[self._record.type])  # type: ignore[name-defined]
        self._whole = any(_top(column.path) is None for column in self.columns)  # reads more than members
        self._apart = self._whole or len(self._slots) < len(tops)  # reads what no struct can

    @property
    def leaves_out(self) -> bool:
        """Whether what is no record at all is left out, and counted."""
        return self._on_bad != "fail"

    def without(self, count: int, reason: str, meter: AccessMeter, origin: Origin) -> Batch:
        """No rows, of so many whose cells are not those of a record."""
        meter.bad_records += count
        meter.warn(f"{origin.source}.{origin.table}: a row with {reason} was left out", count)
        return self.empty()

    def decode(
        self,
        records: Raw | bytes,
        *,
        meter: AccessMeter,
        origin: Origin,
        fill: Mapping[str, object] | None = None,
    ) -> tuple[Batch, int]:
        """A JSON array of records as a batch, and how many records it held before bad ones were dropped.

        Raises MalformedJSON, or SourceError for a bad record.
        """
        fill = fill or {}
        if (batch := self.fast(records, fill)) is not None:
            return batch, batch.num_rows
        before = meter.bad_records
        batch, count = self._decode_carefully(records, meter, origin, fill)
        if meter.bad_records == before and batch.num_rows > 1:
            self._fast = None  # not the accident of one record: the source writes its values so
        return batch, count

    def fast(self, records: Raw | bytes, fill: Mapping[str, object], *, lines: bool = False) -> Batch | None:
        """The records read as they are declared, in one go; None where they need care.

        `lines`: they are JSON values one after another, no array. Raises MalformedJSON.
        """
        if self.members is not None and not self.columns:
            count = None
            with contextlib.suppress(WrongShape):
                count = self.members.count(array_of(records) if lines else records)
            return None if count is None else batch_of((), [], count)
        rows = None if self._fast is None else self._fast.rows(records, lines=lines)
        read = None if self._fast is None or rows is None else self._fast.batch(rows, [(len(rows), fill)])
        if read is None:
            return None
        batch, suspects = read
        if self.members is None or not suspects:
            return batch
        return None if self.members.lacking(array_of(records) if lines else records, suspects) else batch

    def together(self, answers: Sequence[tuple[Raw | bytes, Mapping[str, object]]]) -> list[Batch] | None:
        """The records of several answers, each read as by `fast`, as slices of one batch; None where one needs care.

        Raises MalformedJSON.
        """
        if self._fast is None or not self.columns:
            return None
        each, fills = [], []
        for records, fill in answers:
            rows = self._fast.rows(records)
            if rows is None:
                return None
            each.append(rows)
            fills.append((len(rows), fill))
        read = self._fast.batch(list(chain.from_iterable(each)), fills)
        if read is None:
            return None
        batch, suspects = read
        slices, start = [], 0
        for (records, _), rows in zip(answers, each, strict=True):
            odd = [row - start for row in suspects if start <= row < start + len(rows)]
            if odd and self.members is not None and self.members.lacking(records, odd):
                return None
            slices.append(batch.slice(start, len(rows)))
            start += len(rows)
        return slices

    def may_miss(self, meter: AccessMeter) -> bool:
        """Whether there are columns that no record has had anything for so far."""
        return not self._declared <= meter.met

    def note_missed(
        self,
        records: Callable[[], Raw | bytes],
        rows: Batch,
        around: Envelope,
        meter: AccessMeter,
        origin: Origin,
    ) -> None:
        """Have the meter tell of columns that no record has had anything for so far, null included.

        Not of those that the answer names beside its records, as SPARQL's do: they may be left out of all.
        """
        for plan, column in zip(self.columns, rows.columns, strict=True) if self.may_miss(meter) else ():
            if (name := plan.field.name) in meter.met or name in self.filled:
                continue
            if (
                column.null_count < len(column)
                or has_member(records(), plan.path)
                or ((top := _top(plan.path)) is not None and around.mentions(top))
            ):
                meter.meet(name)
                continue
            text = f"{origin.source}.{origin.table}: no record has {plan.path.text!r}, where the column {name} is declared"
            meter.miss(name, len(column), f"{text} to be: it is NULL throughout")

    def empty(self) -> Batch:
        """No rows."""
        return batch_of(self.columns, [pa.array([], column.field.arrow) for column in self.columns], 0)

    def from_texts(
        self,
        columns: Sequence[Array | None],
        count: int,
        *,
        meter: AccessMeter,
        origin: Origin,
        fill: Mapping[str, object] | None = None,
    ) -> Batch:
        """String columns (the cells of a text format, in the order of `columns`) as a batch of `count` rows.

        Those that are None take what `fill` has for them.
        """
        read = [
            _Column([(fill or {})[plan.field.name]] * count)
            if cells is None
            else _texts_as_found(cells, plan.field.arrow)
            if self._found
            else _texts(cells, plan.field.arrow, plan.path.pattern)
            for plan, cells in zip(self.columns, columns, strict=True)
        ]
        return self._settle(read, {}, count, meter, origin)

    def _decode_carefully(
        self, records: Raw | bytes, meter: AccessMeter, origin: Origin, fill: Mapping[str, object]
    ) -> tuple[Batch, int]:
        strange: dict[int, str] = {}
        whole: list[Raw] = []
        try:
            rows = self._records.decode(records)
            if self._apart:
                whole = decode(records, type=list[Raw])
        except WrongShape:
            whole = decode(records, type=list[Raw])
            rows = [self._one(raw, index, strange) for index, raw in enumerate(whole)]
        if self.members is not None:
            whole = whole or decode(records, type=list[Raw])
            others = [slot for name, slot in self._slots.items() if name not in self.members.keys]
            suspects = [
                index
                for index, row in enumerate(rows)
                if index not in strange and all(getattr(row, slot) is _ABSENT for slot in others)
            ]
            for index in self.members.strangers(whole, suspects):
                # The first is told of.
                text = "" if strange else _stranger(bytes(whole[index]), origin)
                beside = self.members.is_named(whole[index])
                strange[index] = text + (ERROR_ALONE if beside else NONE_OF_THEM)
        read = [
            self._careful_column(
                plan, rows, whole, fill.get(plan.field.name) if index in self._filled else None
            )
            for index, plan in enumerate(self.columns)
        ]
        return self._settle(read, strange, len(rows), meter, origin), len(rows)

    def _one(self, raw: Raw, index: int, strange: dict[int, str]) -> Any:
        if kind_of(raw) == "{":
            return self._record.decode(raw)
        if not self._whole:  # columns that name the record itself may be of any kind
            strange[index] = f"{values.shown(raw)} is not an object"
        return self._record.decode(b"{}")

    def _careful_column(self, plan: ColumnPlan, rows: list[Any], whole: list[Raw], fill: object) -> _Column:
        top = _top(plan.path)
        if top is None or top not in self._slots:
            raws = [first(raw, plan.path) or _ABSENT for raw in whole]
        else:
            raws = list(map(operator.attrgetter(self._slots[top]), rows))
            if len(plan.path.steps) > 1:
                rest = JsonPath(plan.path.text, plan.path.steps[1:])
                raws = [(first(raw, rest) or _ABSENT) if raw is not _ABSENT else raw for raw in raws]
        column = _raws(raws, plan.field.arrow, plan.path.pattern)
        if fill is not None and any(raw is _ABSENT for raw in raws):
            known = column.values if isinstance(column.values, list) else column.values.to_pylist()
            column.values = [fill if raw is _ABSENT else item for raw, item in zip(raws, known, strict=True)]
        return column

    def _settle(
        self, read: list[_Column], strange: dict[int, str], count: int, meter: AccessMeter, origin: Origin
    ) -> Batch:
        """Apply `on_bad` to what was found wrong, and build the batch."""
        gone: set[int] = set(strange)
        table = f"{origin.source}.{origin.table}"
        if self._on_bad == "fail":
            self._raise_first(read, strange, origin)
        for column in read:
            if self._on_bad == "skip":
                gone |= column.bad.keys()
            elif column.bad:
                meter.bad_records += len(column.bad)
                meter.warn(
                    f"{table}: a value that does not fit its declared type was set NULL", len(column.bad)
                )
        if gone:
            meter.bad_records += len(gone)
            meter.warn(f"{table}: a record that does not fit the declared columns was left out", len(gone))
        arrays = [
            column.values
            if isinstance(column.values, pa.Array)
            else pa.array(column.values, plan.field.arrow)
            for plan, column in zip(self.columns, read, strict=True)
        ]
        batch = batch_of(self.columns, arrays, count)
        if gone:
            batch = batch.take(pa.array([row for row in range(count) if row not in gone], pa.int64()))
        return batch

    def _raise_first(self, read: list[_Column], strange: dict[int, str], origin: Origin) -> None:
        faults: list[tuple[int, str | None, str]] = [(row, None, text) for row, text in strange.items()]
        faults += [
            (row, plan.field.name, text)
            for plan, column in zip(self.columns, read, strict=True)
            for row, text in column.bad.items()
        ]
        if not faults:
            return
        row, name, text = min(faults, key=lambda fault: fault[0])
        place = f"column {name!r} of record" if name is not None else "record"
        other = "declare another type, or "
        if name is None and text.startswith("null "):
            other = ""  # amid records it says nothing against their place
        elif name is None:
            lone = "" if NONE_OF_THEM in text else " (a column that is a value by itself has path: $)"
            other = f"have data_selector name where the records are{lone}, or "
        raise origin.error(
            f"{place} {origin.start + row + 1}: {text}",
            f"{other}set on_bad_record: null or skip on the table",
        )


def _top(path: JsonPath) -> str | None:
    """The member of the record a path starts at; None where it names the record itself, an element or its text."""
    step = path.steps[0] if path.steps else None
    return step.name if step is not None and step.kind == "name" and not step.lone else None


# ---------------------------------------------------------------------------------------------- careful route


def _raws(raws: list[Raw], kind: ArrowType, pattern: re.Pattern[str] | None = None) -> _Column:
    """A column of raw JSON values: at once where they agree, else one by one."""
    if pattern is not None:
        # What is no text is its JSON text.
        plain_texts = [None if raw is _ABSENT else values.from_json(raw, pa.string()) for raw in raws]
        return _texts(pa.array(plain_texts, pa.string()), kind, pattern)
    plain: Any = fast_type(kind)
    if plain is not None:
        texts = [bytes(raw) or b"null" for raw in raws]
        lax = plain in (int, float)  # numbers may come as text
        try:
            items = decode(b"[" + b",".join(texts) + b"]", type=list[plain | None], strict=not lax)
        except MalformedJSON:
            items = None
        # Lax reading takes the text "null" for a null, which it is not, and reads whole numbers that are
        # written with a point as doubles.
        if items is not None and (
            not lax
            or (
                sum(item is None for item in items) == texts.count(b"null") and not _lost_digits(items, texts)
            )
        ):
            array = plain_array(items, kind, as_text=values.comes_as_text(kind))
            if array is not None:
                return _Column(array)
    column = _Column([])
    assert isinstance(column.values, list)
    for row, raw in enumerate(raws):
        try:
            column.values.append(values.from_json(raw, kind))
        except (ValueError, MalformedJSON) as error:
            column.values.append(None)
            column.bad[row] = f"{values.shown(raw)} {error}"
    return column


def _lost_digits(items: Sequence[Any], texts: Sequence[bytes]) -> bool:
    """Whether whole numbers may have been read by way of a double that does not hold them."""
    whole = (item for item in items if isinstance(item, int))
    return any(abs(item) >= _HELD for item in whole) and _BY_DOUBLE.search(b",".join(texts)) is not None


def _stranger(record: bytes, origin: Origin) -> str:
    """An object that is no record of the table, and where in it an array is, which may be that of the records."""
    text = origin.redact(record.decode())
    arrays = list(islice(arrays_in(decode(record, type=dict[str, Any])), 1))
    inside = f" (an array: {origin.redact(arrays[0])!r})" if arrays else ""
    return values.shown(text) + inside


def _texts_as_found(cells: Array, kind: ArrowType) -> _Column:
    """Texts in the type that others had, unless they lose something by it."""
    strange = strangers(cells, kind)
    if not strange:
        return _texts(cells, kind)
    texts = cells.to_pylist()
    bad = {}
    for row in strange:
        text, texts[row] = texts[row], None
        says = f"loses something as a {spark_type(kind)}, the type that was found for the column"
        try:
            values.from_text(text, kind)
        except ValueError as error:
            says = str(error)
        bad[row] = f"{values.shown(text)!r} {says}"
    column = _texts(pa.array(texts, pa.string()), kind)
    column.bad |= bad
    return column


def _texts(cells: Array, kind: ArrowType, pattern: re.Pattern[str] | None = None) -> _Column:
    if pattern is not None:
        cut, missed = values.cut_by(pattern, cells)
        column = _texts(cut, kind)
        column.bad |= missed
        return column
    array = values.cast_texts(cells, kind)
    if array is not None:
        return _Column(array)
    column = _Column([])
    assert isinstance(column.values, list)
    for row, cell in enumerate(cells.to_pylist()):
        try:
            column.values.append(None if cell is None else values.from_text(cell, kind))
        except ValueError as error:
            column.values.append(None)
            column.bad[row] = f"{values.shown(cell)!r} {error}"
    return column
