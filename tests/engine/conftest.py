from __future__ import annotations

from tests.web.serving import serve

__all__ = ["serve"]
