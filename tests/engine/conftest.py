from __future__ import annotations

from tests.engine.cached import world
from tests.web.serving import serve

__all__ = ["serve", "world"]
