"""Draws the screens of the manual (docs/screens) from runs over the demo sources: `python -m benchmarks.screens`.

Each is what an emulated terminal of a size shows: of the live view while a run goes on, of other commands when they have ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import io
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI, TerminalTheme
from rich.text import Text

from benchmarks.emulator import Emulator
from fff.execution import Execution
from fff.options import RunOptions
from fff.stats import Snapshot
from fff_cli.live.forecast import History
from fff_cli.live.frame import frame
from fff_cli.live.selection import View
from fff_cli.output.drawing import rendered
from fff_cli.run.federation import open_federation, prepare_all
from fff_sources.demo import QUERY, SPEC
from fff_sources.demo.process import DemoServer

FOLDER = Path(__file__).parent.parent / "docs" / "screens"
SIZES = ((40, 15), (80, 24), (100, 30), (200, 50))
AFTER_S = 6.0  # when groups are known and nothing is finished
_LIGHT = TerminalTheme(
    (255, 255, 255),
    (36, 41, 47),
    [
        (36, 41, 47),
        (207, 34, 46),
        (17, 99, 41),
        (149, 56, 0),
        (9, 105, 218),
        (130, 80, 223),
        (27, 124, 131),
        (110, 119, 129),
    ],
)
THEMES = {"dark": MONOKAI, "light": _LIGHT}
_JOIN = (
    "SELECT F.name, F.contribution, D.householdIncome, C.crimeRating FROM FEC AS F "
    "JOIN Demographics AS D ON F.zip = D.zip JOIN Crime AS C ON F.zip = C.zip WHERE F.State = 'CA' LIMIT 300"
)
_ROWS = _JOIN.removesuffix(" LIMIT 300")
_FORTY = " UNION ALL ".join(f"SELECT zip, incidents FROM T{number}" for number in range(40))


def _throttled(spec: str) -> str:
    return spec.replace("max_concurrency: 8", "max_concurrency: 8, limit: 10, per: 3")


def _failing(spec: str) -> str:
    """The ratings are not where the spec says."""
    tables, crime, rest = spec.partition("      Crime:")
    return (
        tables
        + crime
        + rest.replace("path: crime\n", "path: crimes\n")
        .replace("crime/{zip}", "crimes/{zip}")
        .replace("        on_status: [{status_code: 404, action: empty}]\n", "")
    )


def _forty(spec: str) -> str:
    """The ratings forty times, each as a table of its own."""
    head, _, rest = spec.partition("      FEC:")
    crime = rest.partition("      Crime:")[2].partition("    tests:")[0]
    return head + "".join(f"      T{number}:{crime}" for number in range(40))


def _foreseen(now: Snapshot, history: History) -> bool:
    """Groups are known, and how long the rest takes."""
    groups = now.sample_is == "current groups" and now.elapsed_s >= AFTER_S
    return groups and history.seconds_left(now) is not None


#: The live view of runs in which something happens: how the spec is changed, what is asked, and from when on it is drawn.
LIVE: dict[str, tuple[Callable[[str], str], str, Callable[[Snapshot, History], bool]]] = {
    "live": (str, QUERY, _foreseen),
    "throttled": (_throttled, _ROWS, lambda now, _: now.elapsed_s > 7.5),
    "failing": (_failing, _ROWS, lambda now, _: now.elapsed_s > 0.6 and "failed" in _states(now)),
    "forty": (_forty, _FORTY, lambda now, _: now.elapsed_s > 0.5 and "running" in _states(now)),
}


def _states(now: Snapshot) -> set[str]:
    return {one.state for one in now.access}


_KEYS = "SELECT zip, householdIncome FROM Demographics WHERE zip IN ('94700', '94705');"
#: What else is captured: a command, and what is typed into it, line by line, each after a prompt.
COMMANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "summary": (("query", _JOIN, "--rows", "4"), ()),
    "partial": (("query", _ROWS, "--rows", "4", "--max-requests", "50"), ()),
    "explain": (("explain", _JOIN), ()),
    "analyze": (("explain", "--analyze", _JOIN), ()),
    "error": (("query", _JOIN.replace("D.householdIncome", "D.houseIncome")), ()),
    "list": (("source", "list"), ()),
    "shell": (("shell", "--no-live"), ("\\l", _KEYS, "\\d Crime")),
}
SCREENS = (*LIVE, *COMMANDS)


async def screens(folder: Path = FOLDER, names: Sequence[str] = SCREENS) -> None:
    with DemoServer(seed=3) as server:
        environ = dict(os.environ) | {"FFF_DEMO_BASE_URL": server.base_url}
        for name in names:
            if name in LIVE:
                await _live(name, environ, folder)
    with DemoServer(seed=3, delay_scale=0.1) as server, tempfile.TemporaryDirectory() as home:
        environ = surroundings(Path(home)) | {
            "FFF_DEMO_BASE_URL": server.base_url,
            "FFF_SOURCES": str(SPEC),
        }
        for name in names:
            if name in COMMANDS:
                for columns, lines in SIZES:
                    _drawn(capture(*COMMANDS[name], columns, lines, environ), folder, name, columns, lines)


def surroundings(home: Path) -> dict[str, str]:
    """The environment of a command in a terminal with colours, whose files go into a folder."""
    environ = {
        name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")
    }
    return environ | {
        "TERM": "xterm-256color", "PAGER": "", "PROMPT_TOOLKIT_NO_CPR": "1",
        "XDG_STATE_HOME": str(home), "XDG_CACHE_HOME": str(home), "XDG_CONFIG_HOME": str(home),
    }  # fmt: skip


async def _live(name: str, environ: Mapping[str, str], folder: Path) -> None:
    changed, sql, _ = LIVE[name]
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "demo.yaml"
        file.write_text(changed(SPEC.read_text("utf-8")), "utf-8")
        async with open_federation([file], environ=environ, cache=False) as federation:
            [prepared] = prepare_all(federation, [sql], {})
            execution = federation.execute(prepared, RunOptions(seed=7, refresh=True))
            drawing = asyncio.create_task(_draw(execution, name, folder))
            async for _ in execution.batches():
                if drawing.done():
                    execution.interrupt()
            await drawing


async def _draw(execution: Execution, name: str, folder: Path) -> None:
    history, snapshot, due = History(), execution.snapshot, LIVE[name][2]
    while True:
        now = snapshot()
        history = history.after(now)
        if now.phase != "fetching" or due(now, history):
            break
        await asyncio.sleep(0.16)
    for columns, lines in SIZES:
        picture = frame(now, columns, lines, history=history, view=View(keys=True))
        _drawn(rendered(picture, columns - 1), folder, name, columns, lines)


def _drawn(text: str, folder: Path, name: str, columns: int, lines: int) -> None:
    for theme_name, theme in THEMES.items():
        console = Console(record=True, width=columns, height=lines, file=io.StringIO())
        console.print(Text.from_ansi(text), end="")
        file = folder / f"{name}-{columns}x{lines}-{theme_name}.svg"
        console.save_svg(str(file), title="fff", theme=theme, unique_id=theme_name)


def capture(
    arguments: Sequence[str], typed: Sequence[str], columns: int, lines: int, environ: Mapping[str, str]
) -> str:
    """What a terminal of a size shows when a command has ended, with its colours."""
    emulator, waiting, shown = Emulator(columns, lines), [*typed, "\\q"] if typed else [], ""

    def look() -> str:
        nonlocal shown
        if not waiting or emulator.line() != "fff>":
            return ""
        if waiting == ["\\q"]:
            shown = emulator.styled()
        return f"{waiting.pop(0)}\r"

    watch(arguments, emulator, environ, look)
    return shown if typed else emulator.styled()


def watch(
    arguments: Sequence[str], emulator: Emulator, environ: Mapping[str, str], look: Callable[[], str | None]
) -> None:
    """Run a command in an emulated terminal to its end. `look` is called after each write; what it says is typed."""
    master, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", emulator.lines, emulator.columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "fff_cli", *arguments],
        stdin=inner, stdout=inner, stderr=inner, env=dict(environ), start_new_session=True,
    )  # fmt: skip
    os.close(inner)
    with process, contextlib.suppress(OSError):  # so Linux says that the last writer is gone
        while data := os.read(master, 1 << 16):
            emulator.feed(data.decode("utf-8", "replace"))
            if typed := look():
                os.write(master, typed.encode())
    os.close(master)


if __name__ == "__main__":
    asyncio.run(screens(names=sys.argv[1:] or SCREENS))
