"""The options of `fff query` and `fff shell`, as typed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class QueryArguments:
    """The options of `fff query`, as typed."""

    sql: str | None = None
    files: tuple[Path, ...] = ()
    sources: tuple[Path, ...] = ()
    params: tuple[str, ...] = ()
    output: str | None = None
    output_file: Path | None = None
    live: bool | None = None
    progress: Literal["auto", "on", "off", "json"] = "auto"
    policy: str | None = None
    prefer: Literal["fast", "balanced", "cheap"] = "balanced"
    seed: int | None = None
    semantics: Literal["parked", "paper"] = "parked"
    deadline: float | None = None
    max_requests: int | None = None
    on_source_error: Literal["fail", "partial"] | None = None
    prioritize: tuple[str, ...] = ()
    cache: bool | None = None
    cache_ttl: float | None = None
    report: Path | None = None
    record: Path | None = None
    replay: Path | None = None
    replay_speed: float | None = None
    spark_master: str | None = None
    spark_remote: str | None = None
    verbose: bool = False
    quiet: bool = False
