from __future__ import annotations

from tests.api.conftest import publish

__all__ = ["publish"]
