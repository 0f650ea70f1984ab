"""How statements are run: the one list of options, for the engine, Python programs, Spark jobs and the command line.

Imports nothing of the engine, so that whoever fills in options need not wait until that is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args

from fff.budget import Money, parse_bytes
from fff.errors import UsageError
from fff.structs import Struct, replace

if TYPE_CHECKING:
    from pathlib import Path

OnSourceError = Literal["fail", "partial"]
Preference = Literal["fast", "balanced", "cheap"]
Semantics = Literal["parked", "paper"]

PREFERENCES: tuple[Preference, ...] = get_args(Preference)
DEFAULT_POLICY = "adaptive"


@dataclass(frozen=True)
class SpecText:
    """A spec file as text, for machines that do not have it. Secrets are references in it, as in the file.

    `file`: where it is, from where its relative paths start. `whose`: how far its word goes, which was
    decided where the file is: that of one the user has written or trusted, has named, or that was found.
    """

    file: str
    text: str = field(repr=False)
    whose: Literal["own", "named", "found"]


class _Options(TypedDict, total=False):
    policy: str
    prefer: Preference
    seed: int | None
    deadline: float | None
    max_requests: int | None
    budget: float | str | Money | None
    memory_limit: int | str | None
    on_source_error: OnSourceError


class StatementOptions(_Options, total=False):
    """What a Python program may tell a statement beside its SQL and its parameters; see `RunOptions` and `fff.connect`."""

    prioritize: Sequence[str]


class OpenOptions(TypedDict, total=False):
    """Which tables there are, and what is kept of what sources answer; see `fff.connect`."""

    keep: bool
    cache: bool | None
    cache_ttl: float | None
    local_files: bool


class ConnectOptions(_Options, OpenOptions, total=False):
    """What a connection may be told; see `fff.connect`."""

    spark_master: str | None
    spark_remote: str | None


class RunOptions(Struct, frozen=True):
    """How to run a statement. Nothing here changes a complete answer.

    Attributes:
        policy: the routing policy by name.
        prefer: time against number of requests.
        seed: of the random numbers that routing draws; None: a fresh one, which the report names.
        semantics: FFF's own, or the papers' rules.
        on_source_error: whether a source that cannot be read in full is an error, or the answer is labelled as a part.
        hold_rows: keep rows back until the answer is complete.
        deadline: seconds after which fetching stops; the answer is then what is there.
        max_requests: fetching stops when so many have been sent, by all blocks together; a budget that
            `Federation.execute` is given counts instead.
        budget: fetching stops before a request would cost more than that in all, by the prices that specs state.
        memory_limit: bytes that the process may take while the statement runs: stored rows and indexes beyond half of it
            go to files, and where that is not enough the run ends with what is there. None: half of the machine's.
        spark_master: where Spark runs; None: on this machine.
        spark_remote: a Spark Connect server to use instead.
        spark_log: the file that Spark may log to; None: nowhere.
        warm: use this user's Spark that stays up between commands, where there may be one.
        measure_filters: count what the conditions cost that are left to Spark, when it has ended.
        refresh: keep a current result of the upper query for `Execution.snapshot`.
        prioritize: predicates whose rows are fetched first.
    """

    policy: str = DEFAULT_POLICY
    prefer: Preference = "balanced"
    seed: int | None = None
    semantics: Semantics = "parked"
    on_source_error: OnSourceError = "partial"
    hold_rows: bool = False
    deadline: float | None = None
    max_requests: int | None = None
    budget: Money | None = None
    memory_limit: int | None = None
    spark_master: str | None = None
    spark_remote: str | None = None
    refresh: bool = False
    measure_filters: bool = False
    spark_log: Path | None = None
    warm: bool = False
    prioritize: tuple[str, ...] = ()

    def overridden(self, options: Mapping[str, Any]) -> RunOptions:
        """With what a Python program says in its place; raises UsageError for a value that cannot be."""
        changed = replace(self, **options)
        if changed.deadline is not None and not (is_number(changed.deadline) and changed.deadline > 0):
            raise UsageError(f"deadline must be a positive number of seconds, not {changed.deadline!r}")
        if changed.max_requests is not None and not (
            _is_whole(changed.max_requests) and changed.max_requests > 0
        ):
            raise UsageError(f"max_requests must be a whole number above 0, not {changed.max_requests!r}")
        if changed.seed is not None and not _is_whole(changed.seed):
            raise UsageError(f"seed must be a whole number, not {changed.seed!r}")
        if not isinstance(changed.policy, str):
            raise UsageError(f"policy must be the name of one, not {changed.policy!r}")
        if changed.on_source_error not in get_args(OnSourceError):
            raise UsageError(f"on_source_error must be 'fail' or 'partial', not {changed.on_source_error!r}")
        if changed.prefer not in PREFERENCES:
            raise UsageError(f"prefer must be 'fast', 'balanced' or 'cheap', not {changed.prefer!r}")
        if isinstance(changed.prioritize, str):
            raise UsageError("prioritize is a list of conditions", hint="put the one into brackets")
        if not isinstance(changed.prioritize, Sequence) or not all(
            isinstance(one, str) for one in changed.prioritize
        ):
            raise UsageError(f"prioritize is a list of conditions, not {changed.prioritize!r}")
        budget = None if changed.budget is None else Money.parse(changed.budget)
        memory = None if changed.memory_limit is None else parse_bytes(changed.memory_limit)
        return replace(changed, prioritize=tuple(changed.prioritize), budget=budget, memory_limit=memory)


def is_number(value: object) -> bool:
    """Whether it can be compared as one; those of numpy are numbers, too, and Booleans are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_names(
    options: Mapping[str, object], kind: type[StatementOptions | ConnectOptions], whose: str
) -> None:
    """Raise TypeError for an option that there is not, as a call with a wrong keyword does."""
    if unknown := options.keys() - kind.__annotations__.keys():
        raise TypeError(f"{whose} has no option {min(unknown)!r}")
