"""The folder of the cache: what is damaged, in the way or too much is dropped, and never a reason for a query to fail."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TypeAlias, TypeVar

import pyarrow as pa

from fff.access.disk.codec import ScanFile, quals_bytes, quals_from
from fff.access.disk.folder import made, private, secret_key, unnamed
from fff.access.disk.index import (
    VERSION,
    DiskIndex,
    Held,
    IndexBroken,
    IndexBusy,
    KeptAnswer,
    KeptKeys,
    Reply,
    ScanEntry,
)
from fff.limits import CACHE_BYTES, CACHE_KEPT_S
from fff.quals import Quals
from fff.structs import replace

T = TypeVar("T")
Place: TypeAlias = tuple[bytes, tuple[str, str], tuple[str, ...], tuple[str, ...]]

_MAC_BYTES = 16
#: Answers, seconds, and bytes of replies after which what is new is written.
_TOGETHER = 500
_SOON_S = 1.0
_MUCH = 4 << 20
#: Part of the limit that is left when something had to go, so that not every answer makes something go.
_LEFT = 0.9
#: Seconds after which a use is worth noting again.
_USE_S = 60.0
#: Seconds after which a file that the index does not name belongs to nobody any more.
_ORPHAN_S = 3600.0
#: Troubles after which no more is tried in this run.
_ENOUGH = 10


class RowStore:
    """Rows kept in a folder.

    No method raises: what cannot be read is not there, what cannot be written is left out.

    Args:
        folder: made when first needed, for its owner alone.
        limit: bytes it may take.
        clock: seconds of the wall clock.
        at_once: answers to several keys are on the disk, and outlive a power cut, when `keep` returns.
    """

    def __init__(
        self,
        folder: Path,
        *,
        limit: int = CACHE_BYTES,
        clock: Callable[[], float] = time.time,
        at_once: bool = False,
    ) -> None:
        self.folder = folder
        self.limit = limit
        self.now = clock
        self._at_once = at_once
        self._index: DiskIndex | None = None
        self._key = b""
        self._troubles = 0
        self._off = limit <= 0
        self._tidy = False
        self._not_before = float("-inf")
        self._new: dict[Place, list[KeptAnswer]] = defaultdict(list)
        self._packs: dict[Callable[[], Iterable[tuple[Place, list[KeptAnswer]]]], None] = {}
        self._count = 0
        self._since = 0.0
        self._replies: dict[bytes, tuple[tuple[str, str], Reply]] = {}
        self._replies_bytes = 0
        self._renewed: set[bytes] = set()
        self._scans_used: set[int] = set()
        self._answers_used: set[int] = set()
        self._damaged: set[int] = set()
        self._kept: dict[tuple[str, str], set[tuple[bytes, str]]] = defaultdict(set)  # scans of this run

    def shape(self, fingerprint: bytes) -> bytes | None:
        """The name that a table with this fingerprint has here; None where nothing is kept.

        Whoever reads the folder without its key learns nothing about what went into the fingerprint.
        """
        return self._try(lambda _: self._mac(b"shape", fingerprint), None)

    # ------------------------------------------------------------------------------------------------ reading

    def scan(
        self, shape: bytes, columns: Sequence[str], ttl: float, at_most: int | None = None
    ) -> ScanEntry | None:
        """A fresh scan with these columns and of not more bytes, if there is one."""
        since, now = self._fresh(ttl)
        none: list[ScanEntry] = []
        scans = self._try(lambda index: index.scans(shape, since, now), none)
        fit = (one for one in scans if set(columns) <= set(one.columns))
        return next((one for one in fit if at_most is None or one.bytes <= at_most), None)

    def parts(self, whole: bytes, columns: Sequence[str], ttl: float) -> list[tuple[ScanEntry, Quals]]:
        """The fresh scans with these columns of a table, and the qualifiers of each, under which it was read."""
        since, now = self._fresh(ttl)
        none: list[ScanEntry] = []
        entries = self._try(lambda index: index.parts(whole, since, now), none)
        fit = [(one, quals_from(one.quals)) for one in entries if set(columns) <= set(one.columns)]
        return [(one, quals) for one, quals in fit if quals is not None]

    def newest(self, shape: bytes, columns: Sequence[str]) -> ScanEntry | None:
        """The newest scan with these columns, however old, if there is one."""
        none: list[ScanEntry] = []
        scans = self._try(lambda index: index.scans(shape, float("-inf"), self.now()), none)
        return next((one for one in scans if set(columns) <= set(one.columns)), None)

    def rows(self, shape: bytes, entry: ScanEntry, schema: pa.Schema) -> list[pa.RecordBatch] | None:
        """The rows of a scan; None when its file is not as it was written.

        Takes a moment: to be run in a thread.
        """
        path = self.folder / entry.file
        try:
            with pa.memory_map(str(path)) as mapped:
                data = mapped.read_buffer()
            intact = len(data) == entry.bytes and entry.mac == self._mac(
                b"scan", shape, _texts(entry.columns), _texts(entry.absent), entry.mark, data
            )
            if intact:
                with pa.ipc.open_stream(data) as reader:
                    return list(reader) if reader.schema.equals(schema) else None
        except (OSError, pa.ArrowException):
            pass  # gone, which is as good as damaged
        return None

    def forget(self, entry: ScanEntry) -> None:
        """Drop a scan that turned out to be damaged."""

        def act(index: DiskIndex) -> None:
            with index.writing():
                index.drop_scans([entry])
            (self.folder / entry.file).unlink(missing_ok=True)

        self._try(act, None)

    def distrust(self, table: tuple[str, str]) -> None:
        """Drop what this run has kept of a table's scans: one of them lacks rows that another way of access has."""
        kept = self._kept.pop(table, set())

        def scans(index: DiskIndex) -> list[ScanEntry]:
            return [
                one
                for shape in {name for name, _ in kept}
                for one in index.scans(shape, float("-inf"), self.now())
            ]

        none: list[ScanEntry] = []
        for entry in self._try(scans, none):
            if entry.file in {file for _, file in kept}:
                self.forget(entry)

    def used(self, entry: ScanEntry) -> None:
        """A scan was of use."""
        self._scans_used.add(entry.number)

    def keysets(self, shape: bytes) -> list[KeptKeys]:
        """What the table has been looked up by."""
        return self._try(lambda index: index.keysets(shape), [])

    def answers(
        self, shape: bytes, keyset: KeptKeys, keys: Sequence[bytes], ttl: float
    ) -> dict[bytes, KeptAnswer]:
        """The fresh answers to those of the keys that have been asked for."""
        since, now = self._fresh(ttl)
        answers: dict[bytes, KeptAnswer] = {}
        none: list[KeptAnswer] = []
        kept = self._try(lambda index: index.answers(keyset.number, keys, since, now), none)
        macs = self._macs(shape, keyset.keys, keyset.columns, kept) if kept else ()
        for one, mac in zip(kept, macs, strict=True):
            if mac != one.mac:
                self._damaged.add(one.number)
                continue
            answers[one.key] = one
            if one.used < now - _USE_S:
                self._answers_used.add(one.number)
        return answers

    def request(self, name: bytes) -> bytes | None:
        """What a request with this name is called here, which tells nothing of it; None where nothing is kept."""
        return self._try(lambda _: self._mac(b"request", name), None)

    def has_replies(self) -> bool:
        """Whether an answer to any request is kept."""
        return bool(self._replies) or self._try(lambda index: index.has_replies(), False)

    def reply(self, request: bytes) -> Reply | None:
        """What was answered to a request, however long ago."""
        if request in self._replies:  # in this run, and not written yet
            return self._replies[request][1]
        reply = self._try(lambda index: index.reply(request), None)
        return None if reply is None or reply.mac != self._sealed(reply).mac else reply

    def _fresh(self, ttl: float) -> tuple[float, float]:
        """The time in which what counts as fresh was fetched.

        A clock that was set back makes nothing fresh for longer.
        """
        now = self.now()
        return max(now - ttl, self._not_before), now

    def refresh(self) -> None:
        """From now on this run takes nothing that was fetched before."""
        self._not_before = self.now()

    def held(self) -> list[Held]:
        """What is kept, table by table; nothing is made for the question."""
        return self._try(lambda index: index.held(), []) if self._exists() else []

    def size(self) -> int:
        """Bytes taken."""
        return self._try(lambda index: index.size(), 0) if self._exists() else 0

    def _exists(self) -> bool:
        return (self.folder / _NAME).exists()

    # ------------------------------------------------------------------------------------------------ writing

    def keep(
        self,
        shape: bytes,
        table: tuple[str, str],
        keys: tuple[str, ...],
        columns: tuple[str, ...],
        answers: list[KeptAnswer],
    ) -> None:
        """Keep answers in full to lookups by some key columns. They are written soon."""
        self._new[shape, table, keys, columns] += answers
        self._more(len(answers))

    def keep_later(self, count: int, pack: Callable[[], Iterable[tuple[Place, list[KeptAnswer]]]]) -> None:
        """The same of so many answers, which `pack` gives as they are written: with others, as that costs less."""
        self._packs[pack] = None
        self._more(count)

    def _more(self, count: int) -> None:
        """So many more answers are to be written."""
        now = self.now()
        if not self._count:
            self._since = now
        self._count += count
        batch = self._at_once and count > 1  # what one request has answered of one key, the journal has
        if batch or self._count >= _TOGETHER or now - self._since >= _SOON_S:
            self.flush()

    def keep_reply(self, table: tuple[str, str], reply: Reply) -> None:
        """Keep what was answered to a request. It is written soon."""
        self._replies[reply.request] = (table, reply)
        self._replies_bytes += len(reply.body)
        if self._replies_bytes >= _MUCH:
            self.flush()

    def renew(self, request: bytes) -> None:
        """What was answered to a request would be answered now."""
        self._renewed.add(request)

    def flush(self) -> None:
        """Write what is new."""
        noted = self._scans_used or self._answers_used or self._damaged or self._renewed
        if not (self._new or self._packs or self._replies or noted):
            return
        packs, self._packs = self._packs, {}
        for place, answers in chain.from_iterable(pack() for pack in packs):
            self._new[place] += answers
        new, self._new, self._count = self._new, defaultdict(list), 0
        scans, self._scans_used = self._scans_used, set()
        useful, self._answers_used = self._answers_used, set()
        damaged, self._damaged = self._damaged, set()
        replies, self._replies, self._replies_bytes = self._replies, {}, 0
        renewed, self._renewed = self._renewed, set()

        def act(index: DiskIndex) -> None:
            with index.writing():
                for (shape, table, keys, columns), some in new.items():
                    macs = self._macs(shape, keys, columns, some)
                    index.add_answers(shape, table, keys, columns, zip(some, macs, strict=True))
                index.add_replies(((table, self._sealed(one)) for table, one in replies.values()), self.now())
                index.renew(renewed, self.now())
                index.touch(scans, useful, self.now())
                index.drop_answers(damaged)
            self._shrink(index)

        self._try(act, None)

    def scan_file(self, schema: pa.Schema) -> ScanFile | None:
        """A file for the rows of a scan that begins; None where none can be written."""

        def act(_: DiskIndex) -> ScanFile:
            name = f"{secrets.token_hex(12)}.arrow"
            return ScanFile(
                unnamed(self.folder / f"{name}.part"), self.folder / name, schema, self.limit // 2
            )

        return self._try(act, None)

    def keep_scan(
        self,
        shape: bytes,
        table: tuple[str, str],
        columns: tuple[str, ...],
        file: ScanFile,
        fetched: float,
        *,
        under: tuple[bytes, Quals] = (b"", ()),
        mark: bytes = b"",
        absent: tuple[str, ...] = (),
    ) -> None:
        """Keep a scan that has ended whole; its file is closed or dropped.

        `under`: the name of the table without qualifiers, and those of the scan; `mark`: from where on it may lack changes;
        `absent`: the columns that no record had.
        """

        def act(index: DiskIndex) -> None:
            if not file.finish():
                return
            with pa.memory_map(str(file.part)) as mapped:
                data = mapped.read_buffer()
            mac = self._mac(b"scan", shape, _texts(columns), _texts(absent), mark, data)
            entry = ScanEntry(
                *(0, columns, file.path.name, mac, file.rows, len(data), fetched),
                *(shape, under[0], quals_bytes(under[1]), mark, absent),
            )
            file.part.replace(file.path)
            self._kept[table].add((shape, entry.file))
            try:
                with index.writing():
                    old = index.add_scan(shape, table, entry)
            except BaseException:
                file.path.unlink(missing_ok=True)
                raise
            self._kept[table] -= {(shape, name) for name in old}
            self._unlink(old)
            self._shrink(index)

        self._try(act, None)
        file.drop()

    def clear(self, source: str | None = None) -> None:
        """Forget what is kept of a source, or everything."""

        def act(index: DiskIndex) -> None:
            with index.writing():
                old = index.drop_source(source)
            self._unlink(old)

        if self._exists():
            self._try(act, None)

    def close(self) -> None:
        """Write what is new and let go of the folder."""
        self.flush()
        if self._index is not None:
            self._index.close()
            self._index = None

    def _shrink(self, index: DiskIndex) -> None:
        """Stay within the limit; once a run, drop what is too old and what nobody names."""
        if not self._tidy:
            self._tidy = True
            with index.writing():
                old = index.drop_before(self.now() - CACHE_KEPT_S)
            self._unlink(old)
            self._sweep(index.files())
        if index.size() <= self.limit:
            return
        while index.size() > self.limit * _LEFT:
            with index.writing():
                dropped = index.drop_oldest()
            if dropped is None:
                return
            self._unlink(dropped)

    def _sweep(self, named: set[str]) -> None:
        """Remove files that a killed process or an index that was thrown away has left behind."""
        for path in self.folder.iterdir():
            ours = path.suffix in {".arrow", ".part", ".broken"}
            # By the clock of the file system, which is not `now`.
            if ours and path.name not in named and time.time() - path.stat().st_mtime > _ORPHAN_S:
                path.unlink(missing_ok=True)

    def _unlink(self, files: Sequence[str]) -> None:
        for name in files:
            (self.folder / name).unlink(missing_ok=True)

    # ---------------------------------------------------------------------------------------------- integrity

    def _macs(
        self, shape: bytes, keys: tuple[str, ...], columns: tuple[str, ...], answers: Sequence[KeptAnswer]
    ) -> Iterator[bytes]:
        begun = self._digest(b"answer", shape, _texts(keys), _texts(columns))
        for one in answers:
            body = (b"0",) if one.body is None else (b"1", one.body)
            yield _digested(begun.copy(), one.key, str(one.fetched).encode(), *body).digest()

    def _sealed(self, one: Reply) -> Reply:
        parts = (one.request, one.etag.encode(), one.modified.encode(), one.headers.encode(), one.body)
        return replace(one, mac=self._mac(b"reply", *parts))

    def _mac(self, *parts: bytes | pa.Buffer) -> bytes:
        """Tells damage, whatever part it hits; the parts cannot run into each other."""
        return self._digest(*parts).digest()

    def _digest(self, *parts: bytes | pa.Buffer) -> hashlib.blake2b:
        begun = hashlib.blake2b(key=self._key, digest_size=_MAC_BYTES, salt=VERSION.to_bytes(2, "big"))
        return _digested(begun, *parts)

    # ----------------------------------------------------------------------------------------------- troubles

    def _try(self, act: Callable[[DiskIndex], T], otherwise: T) -> T:
        """Do it if it can be done. A damaged index is put aside, so that the next run finds a new one."""
        if self._off:
            return otherwise
        try:
            return act(self._open())
        except IndexBroken:
            self._put_aside()
            self._off = True
        except IndexBusy:
            self._troubles += 1
            self._off = self._troubles >= _ENOUGH
        except OSError:
            self._troubles += 1
            self._off = self._index is None or self._troubles >= _ENOUGH
        return otherwise

    def _open(self) -> DiskIndex:
        if self._index is None:
            if not made(self.folder):
                raise PermissionError(f"{self.folder} is not ours alone")
            self._key = secret_key(self.folder)
            path = self.folder / _NAME
            with contextlib.suppress(FileExistsError), private(path):
                pass  # for its owner alone, as what SQLite puts beside it will be
            try:
                self._index = DiskIndex(path, at_once=self._at_once)
            except IndexBroken:
                self._put_aside()
                with private(path):
                    pass
                self._index = DiskIndex(path, at_once=self._at_once)
        return self._index

    def _put_aside(self) -> None:
        """Take a damaged index out of the way. What others still write to it is lost with it."""
        if self._index is not None:
            self._index.close()
            self._index = None
        for ending in (
            "",
            "-wal",
            "-shm",
        ):  # the log of the old index must not be taken for that of the new one
            path = self.folder / f"{_NAME}{ending}"
            with contextlib.suppress(OSError):
                path.replace(path.with_name(f"{path.name}.{secrets.token_hex(4)}.broken"))


_NAME = "index.sqlite"


def _digested(digest: hashlib.blake2b, *parts: bytes | pa.Buffer) -> hashlib.blake2b:
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest


def _texts(names: Sequence[str]) -> bytes:
    return "\n".join(names).encode()


@contextlib.contextmanager
def opened(store: RowStore) -> Iterator[RowStore]:
    """The store, closed at the end."""
    try:
        yield store
    finally:
        store.close()
