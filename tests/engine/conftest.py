from __future__ import annotations

from tests.engine.cached import world
from tests.engine.patience import no_page_is_late
from tests.web.serving import serve

__all__ = ["no_page_is_late", "serve", "world"]
