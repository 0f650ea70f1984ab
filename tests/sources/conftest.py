from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.sources.reading import Reader
from tests.web.serving import serve

__all__ = ["serve"]


@pytest.fixture
async def read(tmp_path: Path) -> AsyncIterator[Callable[..., Reader]]:
    """Readers of specs; their clients are closed when the test ends."""
    readers: list[Reader] = []

    def make(spec: str, **environ: str) -> Reader:
        readers.append(Reader(spec, tmp_path, environ))
        return readers[-1]

    yield make
    for reader in readers:
        await reader.client.close()
