"""What is otherwise while the program is loaded: the collector of reference cycles, and variables that libraries read."""

from __future__ import annotations

import gc
import os

#: Containers made until the young ones are looked through while modules come in, nearly all of which stay:
#: some more than a query makes until its first request.
_WHILE_LOADING = 250_000
#: What libraries read when they are loaded. For the large pages that numpy asks for the system clears up its memory,
#: which can take long; its threads for matrices would look for work for a tenth of a second, each on a processor, before
#: they sleep; and pydantic would read what every installed package says of itself, for plug-ins of which ours need none.
_VARIABLES = {
    "NUMPY_MADVISE_HUGEPAGE": "0",
    "OPENBLAS_THREAD_TIMEOUT": "4",
    "PYDANTIC_DISABLE_PLUGINS": "__all__",
}
_usual: list[int] = []
_ours: list[str] = []


def spare_loading() -> None:
    """Have the collector look seldom, and libraries do less, while what makes a tenth of a short run is no use."""
    _usual[:] = gc.get_threshold()
    gc.set_threshold(_WHILE_LOADING, *_usual[1:])
    _ours[:] = [name for name in _VARIABLES if name not in os.environ]
    os.environ.update({name: _VARIABLES[name] for name in _ours})


def loaded() -> None:
    """Have the collector look as usual, but never again at what is loaded, and no process that is started find our variables.

    Nothing where they were not set.
    """
    for name in _ours:
        os.environ.pop(name, None)
    _ours.clear()
    if _usual:
        gc.freeze()
        gc.set_threshold(*_usual)
        _usual.clear()
