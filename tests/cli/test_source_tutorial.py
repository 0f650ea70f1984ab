"""The tutorial, from its first command to its last: every command does and prints what the page says."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from fff_sources.demo.process import DemoServer
from tests.cli.blocks import BLOCK, commands
from tests.cli.terminal import ROOT, environment

PAGE = ROOT / "docs" / "tutorial.md"
URL = "http://127.0.0.1:8642"


def test_every_block_says_what_it_is() -> None:
    marks = {match["mark"].split(",")[0].split(" ")[0] for match in BLOCK.finditer(PAGE.read_text())}
    assert marks == {"served", "step", "file"}


@pytest.mark.slow
def test_the_tutorial_from_beginning_to_end(tmp_path: Path) -> None:
    tools, work = tmp_path / "bin", tmp_path / "work"
    tools.mkdir()
    work.mkdir()
    fff = tools / "fff"
    fff.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fff_cli "$@"\n')
    fff.chmod(0o755)
    environ = environment(LC_ALL="C.UTF-8", HOME=str(tmp_path))
    environ["PATH"] = f"{tools}:{environ['PATH']}"
    with DemoServer(delay_scale=0) as server:
        with urllib.request.urlopen(f"{server.base_url}/crime") as answer:
            told = json.load(answer) | {"results": "..."}
        assert json.dumps(told).replace('"..."', "[...]") in PAGE.read_text()
        for match in BLOCK.finditer(PAGE.read_text()):
            mark, body = match["mark"], match["body"].replace(URL, server.base_url)
            if mark.startswith("file "):
                assert (work / mark.removeprefix("file ")).read_text() == body
            elif mark.startswith("step"):
                for command, shown in commands(body):
                    done = subprocess.run(
                        ["bash", "-o", "pipefail", "-c", command], cwd=work, env=environ, capture_output=True, text=True, timeout=180, check=False,
                        stdin=subprocess.DEVNULL,
                    )  # fmt: skip
                    assert done.returncode == (1 if "exit 1" in mark else 0), f"{command}\n{done.stderr}"
                    assert done.stdout == shown, command
