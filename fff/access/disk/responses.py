"""Bodies of answers that carried a validator, packed. Implements `fff.web.validators.Memory`."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Callable

from fff.access.disk.index import Reply
from fff.access.disk.store import RowStore
from fff.limits import CACHE_ANSWER_BYTES
from fff.web.types import Remembered

_LEVEL = 1  # of packing: answers are texts, and time is what is short
_LARGE = 1 << 16  # bytes from which on packing takes long enough to be done beside


class Replies:
    """Answers in a store, by request. A large one, or one that cannot be kept, is as good as none."""

    def __init__(self, store: RowStore) -> None:
        self._store = store
        self._is_empty: bool | None = None

    def look(self) -> None:
        """Others may have kept something meanwhile. To be told with every statement: asking costs a tenth of a request."""
        self._is_empty = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to find."""
        if self._is_empty is None:
            self._is_empty = not self._store.has_replies()
        return self._is_empty

    async def find(self, name: bytes) -> Remembered | None:
        """The answer to the request of that name, unless it is damaged or gone."""
        request = self._store.request(name)
        reply = None if request is None else self._store.reply(request)
        if reply is None:
            return None
        headers: dict[str, str] = json.loads(reply.headers)  # signed: it is as it was written
        body = await _beside(zlib.decompress, reply.body)
        return Remembered(reply.etag, reply.modified, headers, body)

    async def keep(self, name: bytes, table: tuple[str, str], answer: Remembered) -> None:
        """Remember an answer; written with the next rows."""
        request = self._store.request(name)
        if request is None:
            return
        body = await _beside(lambda data: zlib.compress(data, _LEVEL), answer.body)
        if len(body) > CACHE_ANSWER_BYTES:
            return
        headers = json.dumps(dict(answer.headers))
        self.look()
        self._store.keep_reply(table, Reply(request, answer.etag, answer.modified, headers, body))

    def renew(self, name: bytes) -> None:
        """It was asked for, and has not changed."""
        request = self._store.request(name)
        if request is not None:
            self._store.renew(request)


async def _beside(work: Callable[[bytes], bytes], data: bytes) -> bytes:
    """Pack or unpack; what is large in a thread, so that others go on."""
    return work(data) if len(data) < _LARGE else await asyncio.to_thread(work, data)
