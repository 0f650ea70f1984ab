"""When the collector of reference cycles looks: seldom while the program is loaded, as usual from then on."""

from __future__ import annotations

import gc

#: Containers made until the young ones are looked through while modules come in, nearly all of which stay:
#: some more than a query makes until its first request.
_WHILE_LOADING = 250_000
_usual: list[int] = []


def spare_loading() -> None:
    """Have the collector look seldom: to look through what is being loaded again and again takes a tenth of a short run."""
    _usual[:] = gc.get_threshold()
    gc.set_threshold(_WHILE_LOADING, *_usual[1:])


def loaded() -> None:
    """Have it look as usual, but never again at what is loaded; nothing where it was not spared."""
    if _usual:
        gc.freeze()
        gc.set_threshold(*_usual)
        _usual.clear()
