"""What is otherwise while the program is loaded: the collector of reference cycles, and what libraries do on their own account."""

from __future__ import annotations

import gc
import os
import sys
from collections import defaultdict
from types import ModuleType

#: Containers made until the young ones are looked through while modules come in, nearly all of which stay:
#: some more than a query makes until its first request.
_WHILE_LOADING = 250_000
#: What libraries read when they are loaded. For the large pages that numpy asks for the system clears up its
#: memory, which can take long; its threads for matrices would look for work for a tenth of a second, each on
#: a processor, before they sleep; and pydantic would read what every installed package says of itself, for
#: plug-ins, of which ours need none.
_VARIABLES = {
    "NUMPY_MADVISE_HUGEPAGE": "0",
    "OPENBLAS_THREAD_TIMEOUT": "4",
    "PYDANTIC_DISABLE_PLUGINS": "__all__",
}
#: What takes documentation apart for the help on Arrow's functions: half of what these take to be loaded.
_DOCUMENTATION = "pyarrow.vendored.docscrape"
#: Where a file of certificates is, to OpenSSL; those that it finds in a folder it reads when it needs them.
_CERTIFICATES = "SSL_CERT_FILE"
_usual: list[int] = []
_ours: list[str] = []


class _Unread(ModuleType):
    """In the place of what takes documentation apart: there is none."""

    @staticmethod
    def NumpyDocString(_text: str) -> dict[str, list[object]]:  # noqa: N802 - as the class is called
        return defaultdict(list)


def spare_loading() -> None:
    """Have the collector look seldom, and libraries leave what a command does not need: each a tenth of a short run or less."""
    _usual[:] = gc.get_threshold()
    gc.set_threshold(_WHILE_LOADING, *_usual[1:])
    _ours[:] = [name for name in _VARIABLES if name not in os.environ]
    os.environ.update({name: _VARIABLES[name] for name in _ours})
    sys.modules.setdefault(_DOCUMENTATION, _Unread(_DOCUMENTATION))


def load_transport() -> None:
    """Load what sends requests, without the certificates that aiohttp reads twice on that occasion: a thirteenth of a short run.

    `Network` reads them, once, when it meets a host over TLS.
    """
    usual = os.environ.get(_CERTIFICATES)
    os.environ[_CERTIFICATES] = os.devnull
    try:
        import fff.web.transport  # noqa: F401, PLC0415 - after that
    finally:
        if usual is None:
            del os.environ[_CERTIFICATES]
        else:
            os.environ[_CERTIFICATES] = usual


def loaded() -> None:
    """Have the collector look as usual, but never again at what is loaded, and take the rest back.

    Processes that are started find none of our variables. Nothing where loading was not spared.
    """
    for name in _ours:
        os.environ.pop(name, None)
    _ours.clear()
    if isinstance(sys.modules.get(_DOCUMENTATION), _Unread):
        del sys.modules[_DOCUMENTATION]
    if _usual:
        gc.freeze()
        gc.set_threshold(*_usual)
        _usual.clear()
