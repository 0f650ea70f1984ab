"""Tables of HTML for notebooks: values are escaped, few rows and columns are shown, what is left out is said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fff.display.counts import counted

SHOWN_ROWS = 40
_SHOWN_COLUMNS = 60
_SHOWN_WIDTH = 200  # characters of one value


def safe_text(value: object, most: int) -> str:
    """A value as one line of at most so many printable characters."""
    text = "NULL" if value is None else str(value)
    text = text if len(text) <= most else text[: most - 1] + "…"
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def html_table(columns: Sequence[str], rows: Iterable[Sequence[object]], note: str) -> str:
    """A table and the line under it."""
    hidden = len(columns) - _SHOWN_COLUMNS
    heads = "".join(f"<th>{_escaped(name)}</th>" for name in columns[:_SHOWN_COLUMNS])
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row[:_SHOWN_COLUMNS]) + "</tr>"
        for row in rows
    )
    if hidden > 0:
        note += f"; {counted(hidden, 'column')} not shown"
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table><p>{_safe(note)}</p>"


def _cell(value: object) -> str:
    return "<em>NULL</em>" if value is None else _escaped(value)


def _escaped(value: object) -> str:
    return _safe(safe_text(value, _SHOWN_WIDTH))


def _safe(text: str) -> str:
    from html import escape  # noqa: PLC0415 - loads all names of characters, for which a command has no use

    return escape(text, quote=True)
