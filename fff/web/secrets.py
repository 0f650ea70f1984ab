"""Secrets: found when first needed, and removed from every text that leaves FFF."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from fff.errors import SecretError
from fff.structs import lazy_pattern
from fff.version import how_to_install

_REFERENCE = lazy_pattern(r"\$\{(env|file|keyring):([^}]*)\}")
MASK = "***"
_CUT = "…"  # where a text was cut
_TELLING = 4  # characters of a secret from which on its beginning is hidden, too
_SHOWN = 1_000  # characters of a URL
_KEY = 8  # bytes from which on a secret is looked for in data; shorter ones may be words that stand there by chance
#: Parameters that hold secrets by their usual names, whether or not the spec calls them so.
SECRET_PARAMS = frozenset(
    {"access_token", "api-key", "api_key", "apikey", "auth_token", "client_secret"}
    | {"password", "secret", "sig", "signature", "token"}
)


class Redactor:
    """Knows every secret resolved so far and takes it, in any spelling, out of texts and URLs."""

    def __init__(self) -> None:
        self._secrets: set[str] = set()
        self._forms: list[str] = []  # longest first, so that no part of a secret stays behind
        self._patterns: list[re.Pattern[str]] = []  # mixtures of spellings
        self._mixed: list[re.Pattern[str]] = []  # those of them that are looked for in data
        self._keys: list[bytes] = []  # those that are long enough to be looked for in data
        #: What stands for a secret that cannot be found, where none is needed: a replay proves nothing to
        #: anybody.
        self.stand_in: str | None = None

    @property
    def known(self) -> int:
        """How much is known; it grows with every secret."""
        return len(self._forms)

    def add(self, secret: str) -> None:
        """Remember a secret; an empty one hides nothing."""
        if (
            not secret or secret in self._secrets
        ):  # spellings take milliseconds, and bodies are filled for each request
            return
        from fff.web.spellings import pattern, spellings  # noqa: PLC0415 - many runs have no secret

        self._secrets.add(secret)
        forms, masked = spellings(secret), pattern(secret)
        self._forms = sorted({*self._forms, *forms}, key=len, reverse=True)
        if masked is not None and masked not in self._patterns:
            self._patterns.append(masked)
            if not masked.flags & re.IGNORECASE and len(secret.encode("utf-8", "replace")) >= _KEY:
                self._mixed.append(masked)
                forms = {form for form in forms if not masked.fullmatch(form)}
        data = {form.encode("utf-8", "surrogateescape") for form in forms}
        data |= {secret.encode(name, "replace") for name in ("utf-16-le", "utf-16-be")}
        self._keys += [key for key in data if len(key) >= _KEY and key not in self._keys]

    def strip(self, text: str) -> str:
        """The text, which nobody cut, without any known secret."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, MASK)
        for masked in self._patterns:
            text = masked.sub(MASK, text)
        return text

    def text(self, text: str) -> str:
        """The text without any known secret, nor the beginning of one where it was cut."""
        text = self.strip(text)
        if _CUT in text:  # a text cut inside a secret ends with the beginning of it
            head, *rest = text.split(_CUT)
            text = _CUT.join([*map(self._without_beginning, [head, *rest[:-1]]), rest[-1]])
        return text

    def line(self, text: str, length: int) -> str:
        """What a source wrote, on one line of so many characters: secrets go before anything is cut, so that none is cut in two."""
        text = self.text(text)[: 8 * length]
        text = " ".join("".join(char if char.isprintable() else " " for char in text).split())
        return text if len(text) <= length else text[:length] + "…"

    def _without_beginning(self, text: str) -> str:
        for form in self._forms:
            for length in range(min(len(form) - 1, len(text)), _TELLING - 1, -1):
                if text.endswith(form[:length]):
                    return text[:-length] + MASK
        return text

    def holds_secret(self, text: str) -> bool:
        """Whether a known secret is in the text."""
        return any(form in text for form in self._forms) or any(
            masked.search(text) for masked in self._patterns
        )

    def in_data(self, data: bytes) -> bool:
        """Whether a known secret stands in data that came from outside, so that it must not be kept on disk."""
        if any(key in data for key in self._keys):
            return True
        text = data.decode("utf-8", "surrogateescape") if self._mixed else ""
        return any(masked.search(text) for masked in self._mixed)

    @property
    def has_digits(self) -> bool:
        """Whether some secret that is looked for in data is all digits: a number may be it, which is no text."""
        return any(secret.isdecimal() and len(secret) >= _KEY for secret in self._secrets)

    def url(self, url: str) -> str:
        """The URL without user information, without known secrets, and without parameters that hold secrets by name."""
        try:
            parts = urlsplit(self.strip(url))  # as it was written: taken apart, `+` is a blank and `&` an end
        except ValueError:
            return "(not a URL)"
        netloc = parts.netloc
        if "@" in netloc:
            netloc = f"{MASK}@{netloc.rpartition('@')[2]}"
        query = parts.query
        if any(name.lower() in SECRET_PARAMS for name, _ in parse_qsl(query, keep_blank_values=True)):
            pairs = [
                (name, MASK if name.lower() in SECRET_PARAMS else value)
                for name, value in parse_qsl(query, keep_blank_values=True)
            ]
            query = urlencode(pairs, quote_via=quote, safe="*")
        shown = self.text(urlunsplit((parts.scheme, netloc, parts.path, query, "")))
        return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + _CUT


class Secrets:
    """Fills `${env:NAME}`, `${file:PATH}` and `${keyring:SERVICE/USER}` in texts of a spec.

    `${env:NAME?}` may be missing: it is empty then, and `lacks` says so of a text.

    Args:
        environ: where `env` looks.
        folder: what relative `file` paths start from.
        redactor: told every value found.
        escape: applied to every value put into a text, where the text has a syntax of its own.
        place: where a reference stands, as errors say it.
        check: raises SecretError for a kind and a name that may not be used.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        folder: Path,
        redactor: Redactor,
        *,
        escape: Callable[[str], str] | None = None,
        place: Callable[[str], str] | None = None,
        check: Callable[[str, str], None] | None = None,
    ) -> None:
        self._check = check
        self._escape = escape
        self._place = place
        self._environ = environ
        self._folder = folder
        self._redactor = redactor

    def fill(self, text: str) -> str:
        """The text with every reference replaced; raises SecretError for one that cannot be found."""
        return _REFERENCE.sub(self._find, text)

    def lacks(self, text: str) -> bool:
        """Whether the text names an environment variable that may be missing, and is."""
        return any(
            match[1] == "env" and match[2].endswith("?") and not self._environ.get(match[2][:-1])
            for match in _REFERENCE.finditer(text)
        )

    def fill_all(self, value: object) -> object:
        """The same for every string inside lists and mappings."""
        if isinstance(value, str):
            return self.fill(value)
        if isinstance(value, Mapping):
            return {key: self.fill_all(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.fill_all(item) for item in value]
        return value

    def _find(self, reference: re.Match[str]) -> str:
        try:
            secret = self._look_up(reference[1], reference[2])
        except SecretError as error:
            if self._redactor.stand_in is None:
                where = "" if self._place is None else f"{self._place(reference[0])}: "
                raise SecretError(where + error.message, hint=error.hint) from error
            secret = self._redactor.stand_in
        self._redactor.add(secret)
        return secret if self._escape is None else self._escape(secret)

    def _look_up(self, kind: str, name: str) -> str:
        if self._check is not None:
            self._check(kind, name)
        if kind == "env":
            return self._from_environment(name)
        return self._from_file(name) if kind == "file" else _from_keyring(name)

    def _from_environment(self, name: str) -> str:
        if name.endswith("?"):
            return self._environ.get(name[:-1], "")
        if not self._environ.get(name):
            raise SecretError(f"environment variable {name} is not set", hint=f"set it: export {name}=…")
        return self._environ[name]

    def _from_file(self, name: str) -> str:
        path = self._folder / Path(name).expanduser()
        try:
            secret = path.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
            hint = (
                f"put the secret into {path}, or name another file; relative paths start at the spec's folder"
            )
            raise SecretError(f"secret file {name} cannot be read: {reason}", hint=hint) from error
        if not secret:
            raise SecretError(f"secret file {name} is empty", hint=f"put the secret into {path}")
        return secret


def references(text: str) -> list[str]:
    """The secrets a text names, such as `env:GOV_TOKEN`."""
    return [f"{match[1]}:{match[2]}" for match in _REFERENCE.finditer(text)]


def usable_keyring() -> Any:
    """The `keyring` package where it is installed and has a keyring to keep something in; else None."""
    try:
        keyring = importlib.import_module("keyring")
    except ImportError:
        return None
    return keyring if keyring.get_keyring().priority >= 1 else None


def _from_keyring(name: str) -> str:
    service, slash, user = name.rpartition("/")
    if not slash:
        raise SecretError(f"${{keyring:{name}}} must read ${{keyring:SERVICE/USER}}")
    try:
        keyring = importlib.import_module("keyring")  # only those who use it need it
    except ImportError as error:
        raise SecretError(
            f"${{keyring:{name}}} needs the keyring package", hint=f"install it: {how_to_install('keyring')}"
        ) from error
    try:
        secret = keyring.get_password(service, user)
    except keyring.errors.KeyringError as error:
        raise SecretError(
            f"the keyring cannot be read: {type(error).__name__}", hint="see what it lacks: keyring diagnose"
        ) from error
    if not secret:
        raise SecretError(
            f"the keyring has no password for {service}/{user}", hint=f"set it: keyring set {service} {user}"
        )
    return str(secret)
