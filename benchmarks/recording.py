"""Records `fff demo` in an emulated terminal as a moving picture (docs/screens/recording-*.svg): `python -m benchmarks.recording`.

Rows that look alike are drawn once; a frame is a list of them, shown for as long as it stood on the screen.
"""

from __future__ import annotations

import io
import re
import tempfile
import time
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from benchmarks.emulator import Emulator
from benchmarks.screens import FOLDER, THEMES, surroundings, watch

COLUMNS, LINES = 100, 30
STEP_S = 0.4  # frames that follow sooner are left out
LAST_S = 6.0  # for which the end stands
_WIDTH, _HEIGHT = 12.2, 24.4  # of a character, as rich draws it
_LEFT, _TOP = 12, 44  # what stands around the screen
_ROW = re.compile(r'<(text|rect)( [^>]*?)? y="([\d.]+)"([^>]*?)(/>|>(.*?)</text>)', re.DOTALL)
_CLIP = re.compile(r' clip-path="[^"]*"')

#: The second from which a screen was seen, and its lines with their colours.
Frames = Sequence[tuple[float, Sequence[str]]]


def recorded(folder: Path) -> Frames:
    """What a terminal shows while the demo runs; files that it leaves go into a folder."""
    emulator, began = Emulator(COLUMNS, LINES), time.monotonic()
    frames: list[tuple[float, Sequence[str]]] = []

    def look() -> None:
        now, lines = time.monotonic() - began, emulator.styled().split("\n")
        if not frames or (lines != frames[-1][1] and now - frames[-1][0] >= STEP_S):
            frames.append((now, lines))

    watch(("demo",), emulator, surroundings(folder) | {"FFF_SPARK_WARM": "off"}, look)
    frames.append((max(time.monotonic() - began, frames[-1][0] + STEP_S), emulator.styled().split("\n")))
    return frames


def drawn(frames: Frames, theme: TerminalTheme) -> str:
    """The frames as one SVG that repeats for ever, or shows the last where motion is not wanted."""
    rows = list(dict.fromkeys(line for _, lines in frames for line in lines))
    shapes, styles = _shapes(rows, theme)
    drawn_as = {line: number for number, line in enumerate(rows) if shapes[number]}
    whole = frames[-1][0] + LAST_S - frames[0][0]
    starts = [at - frames[0][0] for at, _ in frames] + [whole]
    moves, screens = [], []
    for number, (start, end) in enumerate(pairwise(starts)):
        begins, ends = 100 * start / whole, 100 * end / whole
        hidden = "" if not number else "0%{visibility:hidden}"
        moves.append(
            f"@keyframes k{number}{{{hidden}{begins:.2f}%{{visibility:visible}}"
            f"{'' if end == whole else f'{ends:.2f}%{{visibility:hidden}}'}}}"
            f"#f{number}{{animation:k{number} {whole:.1f}s step-end infinite}}"
        )
        uses = "".join(
            f'<use href="#l{drawn_as[line]}" y="{_HEIGHT * at:.1f}"/>'
            for at, line in enumerate(frames[number][1])
            if line in drawn_as
        )
        last = "" if number + 2 < len(starts) else ' class="last"'
        screens.append(f'<g id="f{number}"{last}>{uses}</g>')
    defined = "".join(f'<g id="l{number}">{shape}</g>\n' for number, shape in enumerate(shapes) if shape)
    width, height = COLUMNS * _WIDTH + 2 * _LEFT, LINES * _HEIGHT + _TOP + _LEFT
    ground, ink = theme.background_color.hex, theme.foreground_color.hex
    still = "@media (prefers-reduced-motion){.screens g{animation:none!important}.last{visibility:visible}}"
    newline = "\n"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img">\n'
        f"<title>{escape('fff demo: three web sources joined while they answer')}</title>\n"
        f"<style>text{{font:20px 'Fira Code',Menlo,Consolas,monospace;white-space:pre}}\n{styles}\n"
        f".screens g{{visibility:hidden}}\n{newline.join(moves)}\n{still}</style>\n"
        f'<rect width="{width:.0f}" height="{height:.0f}" rx="8" fill="{ground}" stroke="#88888888"/>\n'
        f'<text x="{_LEFT}" y="27" fill="{ink}" opacity=".6">$ fff demo</text>\n'
        f"<defs>\n{defined}</defs>\n"
        f'<g class="screens" transform="translate({_LEFT},{_TOP})">{newline.join(screens)}</g>\n</svg>\n'
    )


def _shapes(rows: Sequence[str], theme: TerminalTheme) -> tuple[list[str], str]:
    """Each row as SVG at the top, and the styles that they name."""
    console = Console(
        record=True,
        width=COLUMNS,
        height=len(rows),
        file=io.StringIO(),
        force_terminal=True,
        legacy_windows=False,
    )
    console.print(Text.from_ansi("\n".join(rows)), end="", soft_wrap=True)
    styles, shapes = console.export_svg(
        code_format="{styles}\0{backgrounds}{matrix}", theme=theme, unique_id="s"
    ).split("\0")
    found = [""] * len(rows)
    for tag, before, y, after, rest, text in _ROW.findall(shapes):
        if tag == "text" and not text.replace("&#160;", "").strip():
            continue
        row = int((float(y) - 1) // _HEIGHT)
        place = float(y) - row * _HEIGHT
        found[row] += f'<{tag}{before} y="{place:.1f}"{_CLIP.sub("", after)}{rest}'
    return found, styles


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        seen = recorded(Path(home))
    for name, theme in THEMES.items():
        (FOLDER / f"recording-{name}.svg").write_text(drawn(seen, theme), encoding="utf-8")
