"""The SQL of a command: its argument, files, or standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from fff.errors import UsageError
from fff_cli.output.console import is_terminal

_ENCODING = "save the SQL as UTF-8"


class TextOfFile(str):  # noqa: SLOT000 - its file is what it has besides
    """The text of one of several files: what is wrong in it is told by its name."""

    file: Path

    def __new__(cls, text: str, file: Path) -> Self:
        """A text that is as any other."""
        one = super().__new__(cls, text)
        one.file = file
        return one


def sql_texts(sql: str | None, files: Sequence[Path]) -> tuple[str, ...]:
    """The SQL from the argument, the files, or standard input when it is not a terminal; raises UsageError."""
    if sql is not None and files:
        raise UsageError("SQL was given both as an argument and with -f", hint="use one of the two")
    if sum(file == Path("-") for file in files) > 1:
        raise UsageError("-f - was given twice: standard input is read once", hint="leave one out")
    if sql is not None and sql.strip() == sql and len(sql.split()) == 1 and Path(sql).is_file():
        raise UsageError(
            f"{sql!r} is the name of a file, and no SQL", hint="-f FILE reads SQL, -s FILE a spec of sources"
        )
    if sql is not None:
        texts: tuple[str, ...] = (typed_text(sql, "the SQL"),)
    elif files:
        texts = tuple(_standard_input() if file == Path("-") else read_text(file) for file in files)
        if len(texts) > 1:
            texts = tuple(TextOfFile(text, file) for text, file in zip(texts, files, strict=True))
    elif sys.stdin is not None and not is_terminal(sys.stdin):
        texts = (_standard_input(),)
    else:
        raise UsageError("there is no SQL", hint="give it as an argument, with -f FILE, or on standard input")
    if not any(text.strip() for text in texts):
        raise UsageError(
            "the SQL is empty", hint="give it as an argument, with -f FILE, or on standard input"
        )
    return texts


def typed_text(word: str, what: str) -> str:
    """A word of the command line, whose bytes are UTF-8 whatever the locale says; raises UsageError where they are not."""
    if word.isascii() or all(not "\ud800" <= char <= "\udfff" for char in word):
        return word
    try:
        return os.fsencode(word).decode()
    except UnicodeError:
        raise UsageError(
            f"{what} is not UTF-8 text", hint="type it in a terminal of UTF-8, or -f FILE"
        ) from None


def _standard_input() -> str:
    if sys.stdin is None:
        raise UsageError(
            "cannot read standard input: it is closed", hint="give the SQL as an argument, or with -f FILE"
        )
    try:
        text = sys.stdin.read().removeprefix("\ufeff")
        text.encode()  # many locales let any bytes pass, as surrogates that nothing after this understands
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise UsageError(f"standard input is not UTF-8 text (byte {error.start})", hint=_ENCODING) from error
    return text


def read_text(file: Path) -> str:
    """The SQL of a file; raises UsageError when it cannot be read or is no text."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        hint = "name a file of SQL; relative paths start at the current folder"
        raise UsageError(f"cannot read {str(file)!r}: {error.strerror}", hint=hint) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{str(file)!r} is not UTF-8 text (byte {error.start})", hint=_ENCODING) from error
