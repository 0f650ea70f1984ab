"""`-p name=value`: text from the command line to a typed value, which the engine binds as a literal.

    zip=94704          a whole number          state=CA              any other word: a string
    ratio=0.5          an exact decimal        zip='02139'           a string, whatever is in the quotes
    f=1e-3             a double                ok=true, gone=null    a Boolean, NULL
    zip:string=94704   the type said outright: string int bigint double decimal boolean date
                             timestamp (UTC unless it says otherwise) timestamp_ntz

A number with leading zeros is a string: nobody writes 02139 and means 2139.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from fff.errors import UsageError
from fff.sql.syntax.parameters.param_types import inferred, typed
from fff.structs import lazy_pattern
from fff_cli.options.texts import typed_text

_FORM = lazy_pattern(r"(?P<name>[A-Za-z_]\w*)(?::(?P<type>\w+))?=(?P<value>.*)", re.DOTALL)


def parse_params(texts: Iterable[str]) -> dict[str, object]:
    """The values of all `-p` options by name; raises UsageError for a form, type or name that will not do."""
    params: dict[str, object] = {}
    for word in texts:
        text = typed_text(word, "the value of -p")
        match = _FORM.fullmatch(text)
        if match is None:
            raise UsageError(f"-p {text}: not of the form NAME=VALUE", hint="for example -p zip=94704")
        name = match["name"]
        if name in params:
            raise UsageError(f"-p {name}: given twice", hint="keep one of the two")
        what, kind, value = f"-p {name}", match["type"], match["value"]
        params[name] = typed(what, kind, value) if kind else inferred(what, value)
    return params
