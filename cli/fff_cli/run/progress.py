"""What standard error gets in words: progress lines while a query runs, and the account at its end."""

from __future__ import annotations

import asyncio
import contextlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fff.display.counts import counted
from fff.errors import FFFError
from fff.stats import AccessStats, Snapshot, bills
from fff.structs import Struct, asdict, to_builtins
from fff_cli.live.forecast import History, duration
from fff_cli.output.console import error_screen, write_error
from fff_cli.output.values import folded, line_printable
from fff_cli.run.account import RANKS, account_lines, accounts, closing_lines, foremost, spark_lines

if TYPE_CHECKING:
    from fff.federation import RunOutcome

LINE_EVERY_S = 2.0  # --progress on without a terminal
JSON_EVERY_S = 0.5
LEAST_TOLD = 5  # access methods in the account of a run, however low the terminal is
#: Fields of a snapshot that hold rows, or say something of each.
_ROWS = (
    "columns", "sample", "sample_is", "sample_rows", "group_keys", "rests_on", "settled", "under_way",
    "partial_columns", "partial",
)  # fmt: skip


def say(text: str) -> None:
    """A message on standard error, whole lines, harmless to terminals; lost when standard error is closed."""
    write_error(line_printable(text) + "\n")


def say_words(text: str) -> None:
    """The same of prose, which a terminal that is too narrow breaks between words."""
    screen, printed = error_screen(), line_printable(text)
    if screen is not None:
        printed = "\n".join(folded(line, screen.width) for line in printed.split("\n"))
    write_error(printed + "\n")


def say_error(error: FFFError) -> None:
    """An error on standard error; a terminal shows its SQL in colours, and breaks lines between words."""
    screen = error_screen()
    if screen is None:
        say(f"error: {error.told()}")
        return
    from fff_cli.output.drawing import error_text, rendered  # noqa: PLC0415 - only a terminal pays for rich

    write_error(rendered(error_text(error, screen.width), screen.width, color=screen.color or None))


def say_accounts(snapshot: Snapshot, *, drawn: bool, verbose: bool) -> None:
    """What each access method did, and Spark, on standard error: drawn where several did, or in words under -v."""
    screen = error_screen() if drawn else None
    if screen is None:
        for line in (*account_lines(snapshot.access), *spark_lines(snapshot)) if verbose else ():
            say(line)
        return
    from fff_cli.live.methods import together  # noqa: PLC0415 - only a terminal pays for rich
    from fff_cli.output.drawing import DrawnColumn, cell, rendered, table  # noqa: PLC0415

    used, others = list(snapshot.access), list[AccessStats]()
    if not verbose:  # what was told before them stays in sight
        used, others = foremost(used, max(LEAST_TOLD, screen.height // 3))
    titles, rows = accounts(used)
    if verbose or len(rows) > 1:
        columns = [
            DrawnColumn(title, [cell(row[at], "dim") for row in rows], at > 1, RANKS[title], None)
            for at, title in enumerate(titles)
        ]
        write_error(rendered(table(columns, screen.width)[0], screen.width, color=screen.color or None))
    if others:
        more = together(others, screen.width, " (-v tells all)")
        write_error(rendered(more, screen.width, color=screen.color or None))
    for line in spark_lines(snapshot):
        say_words(line)


def say_json(event: str, **fields: Any) -> None:
    """One JSON object on a line of standard error."""
    say(json.dumps({"event": event, **fields}, default=str))


class Steering(Struct, frozen=True):
    """What a live view can do to the run it shows, and what it must know of the statement."""

    prioritize: Callable[..., None]  # predicates, in place of all before; raises QueryError
    ordered: bool = False  # whether the statement orders its result
    stop: Callable[[], None] = lambda: None  # as the first Ctrl-C does, and never as the second


class Progress:
    """Tells how a run gets on.

    The base says nothing; `start` and `stop` bracket a run, `clear` makes room.
    """

    draws = False  # whether whoever looks wants more than plain words

    def start(self, snapshot: Callable[[], Snapshot], steering: Steering | None = None) -> None:
        """Begin to tell, reading `snapshot` from time to time."""

    def clear(self) -> None:
        """The result is about to be written to the same terminal: leave it clean, for good."""

    async def stop(self) -> None:
        """End, leaving the terminal clean."""

    def interrupted(self) -> None:
        """The user asked to stop fetching: say what a second Ctrl-C would do."""
        say("stopping with what is there; Ctrl-C again aborts")

    def aborted(self, exit_code: int) -> None:
        """The run ends at once, without a result, by a second Ctrl-C or another signal."""
        del exit_code
        say("aborted")

    def note(self, text: str) -> None:
        """Tell which file a result went to, where that is not the one that was named."""
        say(text)

    def warn(self, text: str) -> None:
        """Tell what is known to go wrong before it does."""
        say_words(f"warning: {text}")

    def skipped(self, statements: int) -> None:
        """Tell how many statements of a script were not run."""
        say(f"not run: {counted(statements, 'statement')}")

    def error(self, error: FFFError) -> None:
        """Tell why there is no result."""
        say_error(error)

    def closing(self, account: RunOutcome, snapshot: Snapshot, *, verbose: bool = False) -> None:
        """Tell how the run ended, and what each source had to do with it."""
        for line in closing_lines(account, snapshot.access):
            say_words(line)
        say_accounts(snapshot, drawn=self.draws, verbose=verbose)


class Quiet(Progress):
    """Errors and nothing else."""

    def _say_nothing(self, *_: object, **__: object) -> None:
        pass

    interrupted = aborted = note = warn = skipped = closing = _say_nothing


class Watching(Progress, ABC):
    """Watches the run in a task of the event loop."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    def start(self, snapshot: Callable[[], Snapshot], steering: Steering | None = None) -> None:
        """Begin the task."""
        del steering  # only a live view has use for it
        self._task = asyncio.create_task(self._run(snapshot))

    async def stop(self) -> None:
        """End the task."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    @abstractmethod
    async def _run(self, snapshot: Callable[[], Snapshot]) -> None:
        """Show snapshots until cancelled."""


class _Periodic(Watching, ABC):
    """Tells a snapshot every so often."""

    every_s = LINE_EVERY_S
    first_after_s = LINE_EVERY_S

    async def _run(self, snapshot: Callable[[], Snapshot]) -> None:
        await asyncio.sleep(self.first_after_s)
        while True:
            self.tell(snapshot())
            await asyncio.sleep(self.every_s)

    @abstractmethod
    def tell(self, snapshot: Snapshot) -> None:
        """Show a snapshot."""


class Lines(_Periodic):
    """A plain line every couple of seconds (`--progress on` without a terminal that can draw)."""

    def __init__(self) -> None:
        super().__init__()
        self._history = History()

    def start(self, snapshot: Callable[[], Snapshot], steering: Steering | None = None) -> None:
        """Begin anew for each statement."""
        self._history = History()
        super().start(snapshot, steering)

    def tell(self, snapshot: Snapshot) -> None:
        """One line."""
        self._history = self._history.after(snapshot)
        requests = sum(access.requests for access in snapshot.access)
        in_flight = sum(access.in_flight for access in snapshot.access)
        left = self._history.seconds_left(snapshot)
        say(
            f"{snapshot.elapsed_s:.1f} s, {snapshot.phase}: {counted(snapshot.rows, 'row')}, "
            f"{counted(requests, 'request')}, {in_flight} in flight"
            + ("" if left is None else f", about {duration(left)} left")
        )


class JsonLines(_Periodic):
    """One JSON object a line (`--progress json`): progress, interrupted, aborted, error, end."""

    every_s = JSON_EVERY_S
    first_after_s = 0.0

    def __init__(self) -> None:
        super().__init__()
        self._statement = 0
        self._history = History()

    def start(self, snapshot: Callable[[], Snapshot], steering: Steering | None = None) -> None:
        """Begin anew for each statement; they are numbered."""
        self._statement += 1
        self._history = History()
        super().start(snapshot, steering)

    def tell(self, snapshot: Snapshot) -> None:
        """The snapshot; of rows only how many there are, since they may be large or secret."""
        self._history = self._history.after(snapshot)
        left = self._history.seconds_left(snapshot)
        fields = to_builtins({name: part for name, part in asdict(snapshot).items() if name not in _ROWS})
        fields["elapsed_s"] = round(snapshot.elapsed_s, 3)
        groups = None
        if snapshot.sample_is != "newest rows":
            groups = {"known": snapshot.sample_rows, "final": sum(snapshot.settled)}
        fields |= {"groups": groups, "partial_rows": len(snapshot.partial)}
        fields["seconds_left"] = None if left is None else round(left, 1)
        say_json("progress", statement=self._statement, **fields)

    def interrupted(self) -> None:
        """An object of its own."""
        say_json("interrupted", statement=self._statement)

    def aborted(self, exit_code: int) -> None:
        """An object of its own, and the last one."""
        say_json("aborted", statement=self._statement, exit_code=exit_code)

    def note(self, text: str) -> None:
        """An object of its own."""
        say_json("note", statement=self._statement, text=text)

    def warn(self, text: str) -> None:
        """An object of its own."""
        say_json("warning", text=text)

    def skipped(self, statements: int) -> None:
        """How many."""
        say_json("not_run", statements=statements)

    def error(self, error: FFFError) -> None:
        """The error's text and exit code."""
        say_json("error", exit_code=error.exit_code, message=error.told())

    def closing(self, account: RunOutcome, snapshot: Snapshot, *, verbose: bool = False) -> None:
        """The account as one object."""
        del verbose
        say_json(
            "end",
            statement=self._statement,
            complete=account.complete,
            exit_code=account.exit_code,
            reason=account.reason,
            rows=account.rows,
            elapsed_s=round(account.elapsed_s, 3),
            requests=sum(access.requests for access in snapshot.access),
            bill=[asdict(one) for one in bills(snapshot.access)],
            missing=[asdict(one) for one in account.missing],
            doubts=list(account.doubts),
            bounds=list(account.bounds),
            within=list(account.within),
            warnings=list(account.warnings),
        )
