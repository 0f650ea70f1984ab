"""The index: answers by key, bodies by request, and what is in which file.

The only importer of sqlite3, whose errors end here.

Several processes may have it open: writers take turns, and readers see what was committed when they ask.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from fff.structs import Struct, lazy_pattern

#: Of the tables below and of all that is in them: an index of another version is thrown away.
VERSION = 5
#: Seconds a writer waits for others; what it wants to write is only a copy of what can be had again.
_PATIENCE_S = 0.25
_FILE = lazy_pattern(r"[0-9a-f]{24}\.arrow")
_AT_ONCE = 500  # keys in one question; SQLite allows 999 parameters everywhere

# No number is given twice: another process may hold that of a row that is gone.
_TABLES = """
CREATE TABLE IF NOT EXISTS scan (
    id INTEGER PRIMARY KEY AUTOINCREMENT, shape BLOB, source TEXT, name TEXT, columns TEXT, file TEXT, mac BLOB,
    rows INTEGER, bytes INTEGER, fetched REAL, used REAL, whole BLOB, quals BLOB, mark BLOB,
    absent TEXT);
CREATE INDEX IF NOT EXISTS scan_by_shape ON scan (shape);
CREATE INDEX IF NOT EXISTS scan_by_whole ON scan (whole);
CREATE TABLE IF NOT EXISTS keyset (
    id INTEGER PRIMARY KEY AUTOINCREMENT, shape BLOB, source TEXT, name TEXT, keys TEXT, columns TEXT, UNIQUE (shape, keys, columns));
CREATE TABLE IF NOT EXISTS answer (
    id INTEGER PRIMARY KEY AUTOINCREMENT, keyset INTEGER, key BLOB, body BLOB, mac BLOB,
    rows INTEGER, fetched REAL, used REAL, UNIQUE (keyset, key));
CREATE INDEX IF NOT EXISTS answer_by_use ON answer (used);
CREATE TABLE IF NOT EXISTS reply (
    request BLOB PRIMARY KEY, source TEXT, name TEXT, etag TEXT, modified TEXT, headers TEXT, body BLOB, mac BLOB,
    fetched REAL, used REAL);
CREATE INDEX IF NOT EXISTS reply_by_use ON reply (used);
"""


_Bytes: TypeAlias = bytes  # where `bytes` is a count


class IndexBroken(Exception):  # noqa: N818 - what it is
    """The file is damaged, or of another version."""


class IndexBusy(Exception):  # noqa: N818
    """Not now: another process writes, the disk is full, or it cannot be written to."""


class ScanEntry(Struct, frozen=True):
    """A file with all rows of a table that some qualifiers want, under some columns."""

    number: int
    columns: tuple[str, ...]
    file: str
    mac: bytes
    rows: int
    bytes: int
    fetched: float
    shape: _Bytes = b""  # the name it is kept under
    whole: _Bytes = b""  # the name of the table without qualifiers
    quals: _Bytes = b""  # under which it was read
    mark: _Bytes = b""  # from which on changes of the table may be missing in it
    #: Of the columns: those that no record had, which may be in answers to lookups.
    absent: tuple[str, ...] = ()


class KeptKeys(Struct, frozen=True):
    """The answers to lookups by some key columns, in alphabetical order, under some columns."""

    number: int
    keys: tuple[str, ...]
    columns: tuple[str, ...]


class KeptAnswer(Struct, frozen=True):
    """All rows that have a key; no body where there are none.

    `fetched`, `used`: seconds of the wall clock.
    """

    key: bytes
    body: bytes | None
    mac: bytes
    rows: int
    fetched: float
    used: float = 0.0
    number: int = 0


class Reply(Struct, frozen=True):
    """What a server answered to one request, word for word: the headers as JSON, the body packed."""

    request: bytes
    etag: str
    modified: str
    headers: str
    body: bytes
    mac: bytes = b""


class Held(Struct, frozen=True):
    """How much is kept of one table."""

    source: str
    table: str
    scans: int
    keys: int
    rows: int
    bytes: int
    oldest: float


class DiskIndex:
    """One open index. Every method may raise IndexBroken or IndexBusy.

    Damage may leave a value of any type in any place: what is read is cast, and what matters is signed by the store.
    """

    def __init__(self, path: Path, *, at_once: bool = False) -> None:
        import sqlite3  # noqa: PLC0415 - most runs keep nothing

        self._synchronous = "FULL" if at_once else "NORMAL"
        with _SQLITE_ERRORS:
            self._db = sqlite3.connect(
                path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False
            )
        self._db.text_factory = _text
        self._keysets: dict[bytes, tuple[int, list[KeptKeys]]] = {}
        try:
            with _SQLITE_ERRORS:
                self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        self._db.execute("PRAGMA auto_vacuum = FULL")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version not in (0, VERSION):
            raise IndexBroken(f"version {version}")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute(f"PRAGMA synchronous = {self._synchronous}")
        self._db.execute(f"PRAGMA journal_size_limit = {4 << 20}")
        if version == 0:
            self._db.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")

    def close(self) -> None:
        """Close it."""
        import sqlite3  # noqa: PLC0415 - as above

        with contextlib.suppress(sqlite3.Error):  # all that was worth keeping is committed
            self._db.close()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """All that is written inside, or nothing."""
        with _SQLITE_ERRORS:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            finally:
                self._keysets.clear()  # at the end: what was read meanwhile is of before

    # ------------------------------------------------------------------------------------------------ reading

    def scans(self, shape: bytes, since: float, until: float) -> list[ScanEntry]:
        """The scans of a table that were fetched in that time, newest first."""
        return self._scans("shape", shape, since, until)

    def parts(self, whole: bytes, since: float, until: float) -> list[ScanEntry]:
        """The scans of a table under any qualifiers that were fetched in that time, newest first."""
        return self._scans("whole", whole, since, until)

    def _scans(self, by: str, name: bytes, since: float, until: float) -> list[ScanEntry]:
        with _SQLITE_ERRORS:
            scans = self._db.execute(
                "SELECT id, CAST(columns AS TEXT), file, mac, CAST(rows AS INTEGER),"  # noqa: S608 - fixed names
                " CAST(bytes AS INTEGER), CAST(fetched AS REAL), CAST(shape AS BLOB), CAST(whole AS BLOB),"
                " CAST(quals AS BLOB), coalesce(CAST(mark AS BLOB), x''), CAST(absent AS TEXT) FROM scan"
                f" WHERE {by} = ? AND fetched > ? AND fetched <= ? ORDER BY fetched DESC",
                (name, since, until),
            ).fetchall()
        return [
            ScanEntry(number, _names(columns), _file(file), *[*rest, _names(absent) if absent else ()])
            for number, columns, file, *rest, absent in scans
        ]

    def keysets(self, shape: bytes) -> list[KeptKeys]:
        """What a table has been looked up by. Asked with every key: read again where something has been written since."""
        with _SQLITE_ERRORS:
            (version,) = self._db.execute("PRAGMA data_version").fetchone()  # of what others have written
            known = self._keysets.get(shape)
            if known is not None and known[0] == version:
                return known[1]
            stored = self._db.execute(
                "SELECT id, CAST(keys AS TEXT), CAST(columns AS TEXT) FROM keyset WHERE shape = ?", (shape,)
            ).fetchall()
        found = [KeptKeys(number, _names(keys), _names(columns)) for number, keys, columns in stored]
        self._keysets[shape] = version, found
        return found

    def answers(self, keyset: int, keys: Sequence[bytes], since: float, until: float) -> list[KeptAnswer]:
        """The answers to those of the keys that were given in that time."""
        answers: list[tuple[bytes, bytes | None, bytes, int, float, float, int]] = []
        with _SQLITE_ERRORS:
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                answers += self._db.execute(
                    "SELECT CAST(key AS BLOB), CAST(body AS BLOB), mac, rows,"  # noqa: S608 - question marks alone
                    " CAST(fetched AS REAL),"
                    " coalesce(CAST(used AS REAL), 0.0), id FROM answer"
                    f" WHERE keyset = ? AND fetched > ? AND fetched <= ? AND key IN ({marks})",
                    (keyset, since, until, *some),
                ).fetchall()
        return [KeptAnswer(*one) for one in answers]

    def has_replies(self) -> bool:
        """Whether anything was answered to a request that is kept."""
        with _SQLITE_ERRORS:
            return self._db.execute("SELECT 1 FROM reply LIMIT 1").fetchone() is not None

    def reply(self, request: bytes) -> Reply | None:
        """What was answered to a request."""
        with _SQLITE_ERRORS:
            reply = self._db.execute(
                "SELECT request, CAST(etag AS TEXT), CAST(modified AS TEXT), CAST(headers AS TEXT),"
                " CAST(body AS BLOB), mac FROM reply WHERE request = ?",
                (request,),
            ).fetchone()
        return None if reply is None or None in reply else Reply(*reply)

    def held(self) -> list[Held]:
        """What is kept, table by table."""
        with _SQLITE_ERRORS:
            held = self._db.execute(
                "SELECT source, name, sum(scan), sum(keys), sum(rows), sum(bytes), min(oldest) FROM ("
                " SELECT source, name, count(*) AS scan, 0 AS keys, sum(rows) AS rows, sum(bytes) AS bytes,"
                "  min(fetched) AS oldest FROM scan GROUP BY source, name"
                " UNION ALL SELECT source, name, 0, count(*), sum(rows),"
                "  sum(coalesce(length(body), 0) + length(key)), min(fetched)"
                "  FROM answer JOIN keyset ON keyset.id = answer.keyset GROUP BY source, name"
                " UNION ALL SELECT source, name, 0, 0, 0, sum(length(body)), min(fetched)"
                "  FROM reply GROUP BY source, name)"
                " GROUP BY source, name ORDER BY source, name"
            ).fetchall()
        return [Held(*one) for one in held]

    def size(self) -> int:
        """Bytes of the index and of the files it names."""
        with _SQLITE_ERRORS:
            (pages,) = self._db.execute("PRAGMA page_count").fetchone()
            (free,) = self._db.execute("PRAGMA freelist_count").fetchone()
            (each,) = self._db.execute("PRAGMA page_size").fetchone()
            (files,) = self._db.execute("SELECT coalesce(sum(bytes), 0) FROM scan").fetchone()
        return int((pages - free) * each + files)

    def files(self) -> set[str]:
        """The files it names."""
        with _SQLITE_ERRORS:
            return {_file(file) for (file,) in self._db.execute("SELECT file FROM scan")}

    # ---------------------------------------------------------------------- writing, inside of `writing` only

    def add_scan(self, shape: bytes, table: tuple[str, str], entry: ScanEntry) -> list[str]:
        """Add a scan in place of those it makes superfluous; their files."""
        old = [
            one
            for one in self.scans(shape, float("-inf"), float("inf"))
            if set(one.columns) <= set(entry.columns)
        ]
        self.drop_scans(old)
        self._db.execute(
            "INSERT INTO scan (shape, source, name, columns, file, mac, rows, bytes, fetched, used, whole, quals,"
            " mark, absent) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(shape, *table, "\n".join(entry.columns), entry.file, entry.mac),
                *(entry.rows, entry.bytes, entry.fetched, entry.fetched, entry.whole, entry.quals),
                *(entry.mark, "\n".join(entry.absent)),
            ),
        )
        return [one.file for one in old]

    def add_answers(
        self,
        shape: bytes,
        table: tuple[str, str],
        keys: Sequence[str],
        columns: Sequence[str],
        answers: Iterable[tuple[KeptAnswer, bytes]],
    ) -> None:
        """Add answers with what signs them, in place of older ones to the same keys."""
        what = (shape, "\n".join(keys), "\n".join(columns))
        self._db.execute(
            "INSERT OR IGNORE INTO keyset (shape, keys, columns, source, name) VALUES (?, ?, ?, ?, ?)",
            (*what, *table),
        )
        (keyset,) = self._db.execute(
            "SELECT id FROM keyset WHERE shape = ? AND keys = ? AND columns = ?", what
        ).fetchone()
        self._db.executemany(
            "INSERT OR REPLACE INTO answer (keyset, key, body, mac, rows, fetched, used) VALUES (?, ?, ?, ?, ?, ?, ?)",
            ((keyset, one.key, one.body, mac, one.rows, one.fetched, one.fetched) for one, mac in answers),
        )

    def add_replies(self, replies: Iterable[tuple[tuple[str, str], Reply]], now: float) -> None:
        """Add what was answered, in place of what was answered to the same requests before."""
        self._db.executemany(
            "INSERT OR REPLACE INTO reply (request, source, name, etag, modified, headers, body, mac, fetched, used)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (one.request, *table, one.etag, one.modified, one.headers, one.body, one.mac, now, now)
                for table, one in replies
            ),
        )

    def renew(self, requests: Iterable[bytes], now: float) -> None:
        """What was answered to these is what would be answered now."""
        self._db.executemany(
            "UPDATE reply SET fetched = ?, used = ? WHERE request = ?", ((now, now, one) for one in requests)
        )

    def touch(self, scans: Iterable[int], answers: Iterable[int], now: float) -> None:
        """These were of use just now."""
        self._db.executemany("UPDATE scan SET used = ? WHERE id = ?", ((now, one) for one in scans))
        self._db.executemany("UPDATE answer SET used = ? WHERE id = ?", ((now, one) for one in answers))

    def drop_scans(self, entries: Iterable[ScanEntry]) -> None:
        """Forget scans; their files are left to the caller."""
        self._db.executemany("DELETE FROM scan WHERE id = ?", ((one.number,) for one in entries))

    def drop_answers(self, numbers: Iterable[int]) -> None:
        """Forget answers."""
        self._db.executemany("DELETE FROM answer WHERE id = ?", ((one,) for one in numbers))

    def drop_oldest(self) -> list[str] | None:
        """Forget what has not been used for longest: a scan, a body or some answers; the files of it, None if nothing is left."""
        scan = self._db.execute(
            "SELECT coalesce(CAST(used AS REAL), 0.0), id, file FROM scan ORDER BY used LIMIT 1"
        ).fetchone()
        answer = self._db.execute(
            "SELECT coalesce(CAST(used AS REAL), 0.0) FROM answer ORDER BY used LIMIT 1"
        ).fetchone()
        reply = self._db.execute(
            "SELECT coalesce(CAST(used AS REAL), 0.0), request FROM reply ORDER BY used LIMIT 1"
        ).fetchone()
        oldest = min((one[0] for one in (scan, answer, reply) if one is not None), default=None)
        if oldest is None:
            return None
        if reply is not None and reply[0] <= oldest:  # its rows may be there, and fresh
            self._db.execute("DELETE FROM reply WHERE request = ?", (reply[1],))
            return []
        if scan is not None and scan[0] <= oldest:
            self._db.execute("DELETE FROM scan WHERE id = ?", (scan[1],))
            return [_file(scan[2])]
        (count,) = self._db.execute("SELECT count(*) FROM answer").fetchone()
        self._db.execute(
            "DELETE FROM answer WHERE id IN (SELECT id FROM answer ORDER BY used LIMIT ?)",
            (max(50, count // 20),),
        )
        return []

    def drop_before(self, time: float) -> list[str]:
        """Forget what was fetched before; the files of it."""
        files = [
            _file(file) for (file,) in self._db.execute("SELECT file FROM scan WHERE fetched < ?", (time,))
        ]
        self._db.execute("DELETE FROM scan WHERE fetched < ?", (time,))
        self._db.execute("DELETE FROM answer WHERE fetched < ?", (time,))
        self._db.execute("DELETE FROM reply WHERE fetched < ?", (time,))
        return files

    def drop_source(self, source: str | None) -> list[str]:
        """Forget a source, or everything; the files of it."""
        which, values = ("", ()) if source is None else (" WHERE lower(source) = lower(?)", (source,))
        files = [_file(file) for (file,) in self._db.execute(f"SELECT file FROM scan{which}", values)]  # noqa: S608 - fixed
        self._db.execute(f"DELETE FROM scan{which}", values)  # noqa: S608 - fixed texts
        self._db.execute(f"DELETE FROM reply{which}", values)  # noqa: S608 - fixed texts
        self._db.execute(f"DELETE FROM answer WHERE keyset IN (SELECT id FROM keyset{which})", values)  # noqa: S608
        self._db.execute(f"DELETE FROM keyset{which}", values)  # noqa: S608 - fixed texts
        return files


def _file(name: object) -> str:
    """The name of a file of ours; anything else would lead out of the folder."""
    if not isinstance(name, str) or not _FILE.fullmatch(name):
        raise IndexBroken("a file has a name that is never given")
    return name


def _text(data: bytes) -> str:
    return data.decode(errors="replace")  # damage must not be an error of its own


def _names(text: str | None) -> tuple[str, ...]:
    if text is None:
        raise IndexBroken("names are missing")
    return tuple(text.split("\n"))


class _SqliteErrors:
    """What SQLite raises within comes out as one of ours. No generator: every key goes through it."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is None:
            return
        import sqlite3  # noqa: PLC0415 - as above

        match error:
            case sqlite3.OperationalError():
                raise IndexBusy(str(error)) from error
            case UnicodeDecodeError():  # what SQLite says of a damaged table quotes it
                raise IndexBroken("damaged text") from error
            case sqlite3.Error():
                raise IndexBroken(str(error)) from error


_SQLITE_ERRORS = _SqliteErrors()
