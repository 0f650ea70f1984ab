"""What errors advise, for clients of a server: they have no command line, and no say in which specs are read."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fff.errors import FFFError
from fff.structs import lazy_pattern


def _spelled(pairs: Iterable[tuple[str, str]]) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(words, re.DOTALL), instead) for words, instead in pairs]


_ALL = _spelled(
    (
        (r"give it one with -p \S+=VALUE", "give it one among the parameters"),
        (r"give it one in the mapping behind the SQL: \{.*?\}", "give it one among the parameters"),
        (r", or give -p \S+", ""),
        (r"--(?:max-requests|budget), or (\w+) in Python", r"\1"),
    )
)
_CLIENTS = _spelled(
    (
        (r"tables come from the files given with -s.*", "SHOW TABLES lists those that are served"),
        (r"`fff source list` shows .*", "SHOW TABLES lists those that are served"),
        (r" or local_files=True in Python", ""),
    )
)
#: Agents have tools, and a server of their own, which has fewer options.
_AGENTS = _spelled(
    (
        (r"tables come from the files given with -s.*", "search_tables finds tables"),
        (r"`fff source list` (shows|asks).*", "search_tables finds tables"),
        (r"`fff source show \S+` asks for them.*", "describe_table asks for them"),
        (
            r"those of the machine that runs statements are, .*",
            "only those that a spec declares (type: files)",
        ),
    )
)
#: What only a command line has; how a server is started is for its clients, too.
_COMMANDS = lazy_pattern(r"`fff (?!serve)|(?<![\w-])(?!--local-files)--?[a-z]")


def advised(error: FFFError, *, to_agents: bool = False) -> FFFError:
    """The error, with nothing in its hint that is for a command line."""
    hint = error.hint or ""
    for words, instead in (*_ALL, *(_AGENTS if to_agents else _CLIENTS)):
        hint = words.sub(instead, hint)
    error.hint = None if _COMMANDS.search(hint) else hint or None
    return error
