"""The options of a connection, which its statements may override one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypedDict

from fff.engine import RunOptions
from fff.errors import UsageError
from fff.policies import DEFAULT_POLICY, PREFERENCES, Preference

OnSourceError = Literal["fail", "partial"]


class RunKeywords(TypedDict, total=False):
    """What a statement may be told beside its SQL and its parameters.

    policy: the routing policy by name.
    prefer: time against number of requests: `"fast"`, `"balanced"`, `"cheap"`.
    seed: of the random numbers that routing draws; the report names the one used.
    deadline: seconds after which fetching stops; the answer is what is there.
    max_requests: fetching stops when so many requests have been sent.
    on_source_error: `"fail"` raises SourceError when a source cannot be read in full, `"partial"` gives a result that
        says what it lacks.
    prioritize: conditions, `"state = 'CA'"`; rows that fulfil one are fetched first.
    """

    policy: str
    prefer: Preference
    seed: int | None
    deadline: float | None
    max_requests: int | None
    on_source_error: OnSourceError
    prioritize: Sequence[str]


@dataclass(frozen=True)
class Settings:
    """How statements run. `on_source_error` is `"fail"` here: a script should not take a part for the whole unasked."""

    policy: str = DEFAULT_POLICY
    seed: int | None = None
    deadline: float | None = None
    max_requests: int | None = None
    on_source_error: OnSourceError = "fail"
    spark_master: str = "local[*]"
    spark_remote: str | None = None
    keep: bool = False
    prioritize: Sequence[str] = ()
    cache: bool | None = None
    cache_ttl: float | None = None
    prefer: Preference = "balanced"

    def __post_init__(self) -> None:
        if self.deadline is not None and not self.deadline > 0:
            raise UsageError(f"deadline must be a positive number of seconds, not {self.deadline!r}")
        if self.max_requests is not None and self.max_requests < 0:
            raise UsageError(f"max_requests must not be negative: {self.max_requests!r}")
        if self.on_source_error not in ("fail", "partial"):
            raise UsageError(f"on_source_error must be 'fail' or 'partial', not {self.on_source_error!r}")
        if self.prefer not in PREFERENCES:
            raise UsageError(f"prefer must be 'fast', 'balanced' or 'cheap', not {self.prefer!r}")
        if isinstance(self.prioritize, str):
            raise UsageError("prioritize is a list of conditions", hint="put the one into brackets")

    def overridden(self, options: Mapping[str, object]) -> Settings:
        """With some options replaced; raises TypeError for one that does not exist, UsageError for a bad value."""
        unknown = options.keys() - RunKeywords.__annotations__.keys()
        if unknown:
            raise TypeError(f"a statement has no option {min(unknown)!r}")
        return replace(self, **options)  # type: ignore[arg-type]  # the names were checked, the values are below

    def run_options(self, *, refresh: bool) -> RunOptions:
        """The same in the engine's words."""
        return RunOptions(
            policy=self.policy,
            prefer=self.prefer,
            seed=self.seed,
            deadline_s=self.deadline,
            max_requests=self.max_requests,
            on_source_error=self.on_source_error,
            spark_master=self.spark_master,
            spark_remote=self.spark_remote,
            refresh=refresh,
            prioritize=tuple(self.prioritize),
        )
