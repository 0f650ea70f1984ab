"""Draws the screens of the manual (docs/screens) from a run over the demo sources: `python -m benchmarks.screens`."""

from __future__ import annotations

import asyncio
import io
import os
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI, TerminalTheme
from rich.text import Text

from fff.options import RunOptions
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


async def screens(folder: Path = FOLDER) -> None:
    with DemoServer(seed=3) as server:
        environ = dict(os.environ) | {"FFF_DEMO_BASE_URL": server.base_url}
        async with open_federation([SPEC], environ=environ, cache=False) as federation:
            [prepared] = prepare_all(federation, [QUERY], {})
            execution = federation.execute(prepared, RunOptions(seed=7, refresh=True))
            drawing = asyncio.create_task(_draw(execution.snapshot, folder))
            async for _ in execution.batches():
                pass
            await drawing


async def _draw(snapshot, folder: Path) -> None:
    history = History()
    while (now := snapshot()).phase == "fetching" and (
        now.elapsed_s < AFTER_S or now.sample_is != "current groups"
    ):
        history = history.after(now)
        await asyncio.sleep(0.16)
    history = history.after(now)
    for columns, lines in SIZES:
        text = rendered(frame(now, columns, lines, history=history, view=View(keys=True)), columns - 1)
        for name, theme in THEMES.items():
            console = Console(record=True, width=columns, height=lines, file=io.StringIO())
            console.print(Text.from_ansi(text), end="")
            file = folder / f"live-{columns}x{lines}-{name}.svg"
            console.save_svg(str(file), title="fff demo", theme=theme, unique_id=name)


if __name__ == "__main__":
    asyncio.run(screens(*map(Path, sys.argv[1:])))
