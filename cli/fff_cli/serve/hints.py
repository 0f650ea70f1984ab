"""What errors advise, for clients of a server: they have no command line, and no say in which specs are read."""

from __future__ import annotations

import re

from fff.errors import FFFError

_SPELLED = tuple(
    (re.compile(words, re.DOTALL), instead)
    for words, instead in (
        (r"give it one with -p \S+=VALUE", "give it one among the parameters"),
        (r"give it one in the mapping behind the SQL: \{.*?\}", "give it one among the parameters"),
        (r", or give -p \S+", ""),
        (r"tables come from the files given with -s.*", "SHOW TABLES lists those that are served"),
        (r"`fff source list` shows .*", "SHOW TABLES lists those that are served"),
        (r" or local_files=True in Python", ""),
        (r"--(?:max-requests|budget), or (\w+) in Python", r"\1"),
    )
)
#: What only a command line has; how a server is started is for its clients, too.
_COMMANDS = re.compile(r"`fff (?!serve)|(?<![\w-])(?!--local-files)--?[a-z]")


def advised(error: FFFError) -> FFFError:
    """The error, with nothing in its hint that is for a command line."""
    hint = error.hint or ""
    for words, instead in _SPELLED:
        hint = words.sub(instead, hint)
    error.hint = None if _COMMANDS.search(hint) else hint or None
    return error
