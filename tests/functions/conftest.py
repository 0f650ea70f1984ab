from __future__ import annotations

from tests.api.conftest import publish
from tests.engine.patience import no_page_is_late

__all__ = ["no_page_is_late", "publish"]
