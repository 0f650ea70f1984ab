"""Values as RDF terms: what the grammar of SPARQL lets stand in a query, and nothing else."""

from __future__ import annotations

import re

from fff.structs import lazy_pattern
from fff_sources.http.templates import text_of

XSD = "http://www.w3.org/2001/XMLSchema#"

_IRI = lazy_pattern(r"""[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]*""")
_LANGUAGE = lazy_pattern(r"@[A-Za-z]+(-[A-Za-z0-9]+)*")
_PREFIXED = lazy_pattern(r"([A-Za-z][\w-]*)?:([\w-]+)", re.ASCII)
_ESCAPES = {'"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_WHOLE = lazy_pattern(r"(?:tiny|small|big)?int(?:eger)?|byte|short|long")


def iri(text: object) -> str | None:
    """An absolute IRI as a term; None where the text is none, so that no term can be it."""
    return f"<{text}>" if isinstance(text, str) and _IRI.fullmatch(text) else None


def string(text: str) -> str | None:
    """A text as a plain literal; None where no literal can hold it."""
    # What the doubled backslash would join up with is written as a code point: some engines read \\uXXXX
    # before, some after they read \\\\, and this is the same for both.
    escaped = re.sub(r"\\(u?)(U?)", _backslash, text)
    quoted = "".join(_ESCAPES.get(char, char) if char != "\\" else char for char in escaped)
    return None if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text) else f'"{quoted}"'


def _backslash(match: re.Match[str]) -> str:
    return "\\\\" + ("\\u0075" if match[1] else "") + ("\\u0055" if match[2] else "")


def is_kind(text: str) -> bool:
    """Whether a spec's `term` is one: `iri`, `literal`, a language tag (`@en`) or a datatype (`xsd:date`, `<…>`)."""
    if text in ("iri", "literal") or _LANGUAGE.fullmatch(text) or _PREFIXED.fullmatch(text):
        return True
    return text.startswith("<") and text.endswith(">") and iri(text[1:-1]) is not None


def term(kind: str, value: object) -> str | None:
    """A value as a term of a declared kind; None where there is no such term."""
    if kind == "iri":
        return iri(value)
    written = string(text_of(value))
    if written is None or kind == "literal":
        return written
    return written + (kind if kind.startswith("@") else f"^^{kind}")


def is_number(spark: str) -> bool:
    """Whether values of a column are compared as numbers: not decimals, which reading rounds to their scale."""
    return _WHOLE.fullmatch(spark) is not None


def number(value: object) -> str | None:
    """A whole number as SPARQL writes it."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None
