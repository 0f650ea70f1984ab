"""What becomes of secrets on their way back from a server, and whether a text still holds one, however it was packed."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus, unquote

SECRET = 's3/cr+et&"q"=\'\\9 zé'
PLAIN = "ghpTOKEN0123456789abcdef"
#: What becomes of a text on its way back.
FORMS: tuple[Callable[[str], str], ...] = (
    str,
    lambda text: json.dumps(text)[1:-1],
    lambda text: json.dumps(json.dumps(text)),
    lambda text: quote(text, safe=""),
    quote_plus,
    html.escape,
    lambda text: text.encode().hex(),
    lambda text: base64.b64encode(text.encode()).decode(),
    lambda text: base64.urlsafe_b64encode(f"at=3&{text}".encode()).decode().rstrip("="),
    lambda text: base64.b64encode(json.dumps({"header": text}).encode()).decode(),
    lambda text: base64.b64encode(quote(text).encode()).decode(),
    lambda text: base64.b64encode(base64.b64encode(text.encode())).decode(),
)


def undone(text: str, depth: int = 3) -> set[str]:
    """A text, and all that can be unpacked of it."""
    if not depth:
        return {text}
    steps = {unquote(text), html.unescape(text), re.sub(r"\\(.)", r"\1", text)}
    steps.add(re.sub(r"\\+u([0-9a-f]{4})", lambda match: chr(int(match[1], 16)), text))
    for run in re.findall(r"[A-Za-z0-9+/_-]{16,}", text):
        packed = run.translate(str.maketrans("-_", "+/"))
        for start in range(4):
            some = packed[start : start + (len(packed) - start) // 4 * 4]
            steps.add(base64.b64decode(some).decode("utf-8", "replace"))
        if re.fullmatch("(?:[0-9a-f]{2})+", run):
            steps.add(bytes.fromhex(run).decode("utf-8", "replace"))
    return {text}.union(*(undone(step, depth - 1) for step in steps - {text}))


def leaks(text: str, *secrets: str) -> bool:
    """Whether a beginning or an end of a secret stands in a text, or in what can be unpacked of it."""
    parts = [part for secret in secrets or (SECRET, PLAIN) for part in (secret[:7], secret[-7:])]
    return any(part in one for one in undone(text) for part in parts)
