"""The examples of Python in a page of the manual, run as one program."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from fff_sources.demo import spec_text
from fff_sources.demo.process import DemoServer

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"(?:<!-- (?P<mark>\w+)[^>]*-->\n)?```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<shown>.*?)```)?",
    re.DOTALL,
)


@dataclass(frozen=True)
class Example:
    code: str
    shown: str


def examples(page: str, *, spark: bool) -> list[Example]:
    """The examples of a page that need a Spark session of their own, or those that do not."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Example(match["code"], match["shown"] or "")
        for match in BLOCK.finditer(text)
        if match["mark"] != "not" and (match["mark"] == "spark") is spark  # <!-- not run: why -->
    ]


def run(found: list[Example], folder: Path, spec: str | None = None) -> None:
    """One program of all the examples, under a spec or the demo's."""
    mark = "----"
    program = f"\nprint({mark!r})\n".join(example.code for example in found)
    with DemoServer(delay_scale=0) as server:
        (folder / "fff.yaml").write_text(spec or spec_text(server.base_url), encoding="utf-8")
        environ = {name: text for name, text in os.environ.items() if name != "FFF_SOURCES"}
        environ |= {"FFF_TOWN_BASE_URL": server.base_url, "PYSPARK_PYTHON": sys.executable}
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environ,
            cwd=folder, capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.split(f"{mark}\n") == [example.shown for example in found]
