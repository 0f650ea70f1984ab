"""The values of options that take one of a few."""

from __future__ import annotations

from enum import StrEnum


class ProgressMode(StrEnum):
    """Values of `--progress`."""

    auto = "auto"
    on = "on"
    off = "off"
    json = "json"


class OnSourceError(StrEnum):
    """Values of `--on-source-error`."""

    fail = "fail"
    partial = "partial"


class Semantics(StrEnum):
    """Values of `--semantics`."""

    parked = "parked"
    paper = "paper"


class Prefer(StrEnum):
    """Values of `--prefer`."""

    fast = "fast"
    balanced = "balanced"
    cheap = "cheap"
