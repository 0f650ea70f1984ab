"""`fff experiment`: re-runs the papers' experiments, which are a package of their own, found by its entry point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from typing import Any, Protocol

from fff.errors import UsageError
from fff_cli.run.progress import say

#: The group of entry points that name a package of experiments.
GROUP = "fff.experiments"


class Experiments(Protocol):
    """What a package of experiments offers to a command line."""

    def listing(self) -> str:
        """The name, source, resources and title of each experiment, as a table of plain text."""

    def run(
        self, names: Sequence[str], *, show: Callable[[str], None], say: Callable[[str], None], **how: Any
    ) -> bool:
        """Run them one after another, `how` as the options of the command are called; whether they pass.

        Raises UsageError.
        """


def list_experiments() -> int:
    """Print which experiments there are; the exit code. Raises UsageError where none are installed."""
    print(_experiments().listing())
    return 0


def run_experiments(names: Sequence[str], **how: Any) -> int:
    """Run them one after another, as `fff_experiments.command.run` says; the exit code: 0 if all of them pass.

    Raises:
        UsageError: no experiment of that name; a folder that cannot be written; no plots for the manual.
    """
    return 0 if _experiments().run(names, **how, show=_show, say=say) else 1


def _show(text: str) -> None:
    print(text, flush=True)


def _experiments() -> Experiments:
    for entry in entry_points(group=GROUP):
        offered: Experiments = entry.load()
        return offered
    raise UsageError("no experiments are installed", hint="they come with FFF itself: install it anew")
