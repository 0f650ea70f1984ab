"""Keys that were asked for together, noted before they are asked for: a run that goes on asks as the killed one did.

An answer in the journal is found by its request, and a batch is another request where its keys are grouped otherwise.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable

from fff.access.disk.codec import keys_bytes, keys_from
from fff.access.disk.journal import Journal
from fff.catalog import Key, Keys

#: Groups that may lack their answers by key: as many as can have been in flight, and more.
_LAST = 256


class Together:
    """The groups in which one table is looked up by some key columns.

    Args:
        journal: of the run, where the notes are; its newest ones of the run before are taken from it.
        name: what tells the table, the key columns and the columns asked for from others.
        tells_secrets: whether a text may not be written, because a secret of the source stands in it.
    """

    def __init__(self, journal: Journal, name: bytes, tells_secrets: Callable[[bytes], bool]) -> None:
        self._journal = journal
        self._tells_secrets = tells_secrets
        self._name = journal.named(name)
        before: deque[list[Key]] = deque(maxlen=_LAST)
        while (note := journal.take(self._name)) is not None:
            before.append(keys_from(note[1]))
        self._before = {key: group for group in before for key in group}

    @property
    def waiting(self) -> Collection[Key]:
        """The keys of groups of the run before that have not been asked for to their end."""
        return self._before.keys()

    def note(self, keys: Keys) -> None:
        """These are asked for now, in one request: the note is on the disk before its answer is."""
        text = keys_bytes(keys)
        if text is not None and not self._tells_secrets(text):
            self._journal.note(self._name, text)

    def holding(self, keys: Iterable[Key]) -> list[list[Key]]:
        """The groups of the run before that hold one of the keys."""
        groups = {id(group): group for key in keys if (group := self._before.get(key)) is not None}
        return list(groups.values())

    def settle(self, keys: Iterable[Key]) -> None:
        """These need not be asked for as before: they have been, or their answers are here."""
        for key in keys:
            self._before.pop(key, None)
