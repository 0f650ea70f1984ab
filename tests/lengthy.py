"""Which fast tests `make check` leaves to `make test`: the few that take most of the time.

    make check PYTEST_ARGS="-m 'not slow and not spark' --durations=0" | .venv/bin/python -m tests.lengthy

writes them anew to `lengthy.txt`, whichever were in it before.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

LIST = Path(__file__).with_suffix(".txt")
#: Part of all seconds that the tests of the list take together.
_SHARE = 0.7
_LINE = re.compile(r"([0-9.]+)s (?:call|setup|teardown) +(tests/[^\[\s]+)")


def names() -> frozenset[str]:
    """The tests of the list, as pytest calls them, without their cases."""
    return frozenset(LIST.read_text(encoding="utf-8").splitlines())


def longest(lines: Iterable[str]) -> list[str]:
    """The tests with the most seconds, by what pytest says of durations, up to the share of all seconds."""
    seconds: Counter[str] = Counter()
    for line in lines:
        if (told := _LINE.match(line)) is not None:
            seconds[told[2]] += float(told[1])
    left, chosen = _SHARE * sum(seconds.values()), []
    for name, taken in seconds.most_common():
        if left <= 0:
            break
        left -= taken
        chosen.append(name)
    return sorted(chosen)


if __name__ == "__main__":
    LIST.write_text("\n".join(longest(sys.stdin)) + "\n", encoding="utf-8")
