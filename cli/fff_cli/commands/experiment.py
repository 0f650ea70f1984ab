"""`fff experiment`: re-runs the papers' experiments, which are a package of their own, found by its entry point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol

from fff.errors import UsageError
from fff_cli.run.progress import say

#: The group of entry points that name a package of experiments.
GROUP = "fff.experiments"


class Experiments(Protocol):
    """What a package of experiments offers to a command line."""

    def listing(self) -> str:
        """The name, source, resources and title of each experiment, as a table of plain text."""

    def run(
        self,
        names: Sequence[str],
        *,
        seed: int,
        scale: float,
        seeds: int | None,
        controls: bool | None,
        folder: Path,
        docs: Path | None,
        show: Callable[[str], None],
        say: Callable[[str], None],
    ) -> bool:
        """Run them one after another; whether every acceptance holds with most seeds, and can fail.

        Raises UsageError.
        """


def list_experiments() -> int:
    """Print which experiments there are; the exit code. Raises UsageError where none are installed."""
    print(_experiments().listing())
    return 0


def run_experiments(
    names: Sequence[str],
    *,
    seed: int,
    scale: float,
    seeds: int | None,
    controls: bool | None,
    folder: Path,
    docs: Path | None,
) -> int:
    """Run them one after another, as `fff_experiments.command.run` says; the exit code: 0 if every acceptance holds.

    Raises:
        UsageError: no experiment of that name; a folder that cannot be written; no plots for the manual.
    """
    passed = _experiments().run(
        names,
        seed=seed,
        scale=scale,
        seeds=seeds,
        controls=controls,
        folder=folder,
        docs=docs,
        show=_show,
        say=say,
    )
    return 0 if passed else 1


def _show(text: str) -> None:
    print(text, flush=True)


def _experiments() -> Experiments:
    for entry in entry_points(group=GROUP):
        offered: Experiments = entry.load()
        return offered
    raise UsageError("no experiments are installed", hint="they come with FFF itself: install it anew")
