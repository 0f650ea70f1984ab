"""What is kept beside a result, in `FILE.fff.json`: its statement, and what else the result depends on."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence, Sized
from pathlib import Path
from typing import Any

from fff.access.disk.folder import made, replaced, secret_key
from fff.errors import UsageError
from fff.structs import Struct, asdict, replace
from fff.web.secrets import SECRET_PARAMS
from fff_cli.options.arguments import QueryArguments
from fff_cli.output.files import STATEMENT, is_special
from fff_cli.output.streams import COMPARED
from fff_cli.run.state import state_folder

_FORMAT = 1
#: What is in the names of parameters whose values are not kept.
_SECRET_WORDS = ("token", "secret", "passw", "api_key", "apikey", "credential")
#: What of the options of the engine says what a result is, and not how far a run may go.
_ENGINE = ("policy", "semantics", "prefer", "prioritize")


class KeptStatement(Struct, frozen=True):
    """A statement and what its result depends on.

    Attributes:
        sql: its text.
        folder: where the command ran; paths start there.
        sources: what `-s` named, as absolute paths.
        params: what `-p` was given, without the values of those in `secret_params`.
        secret_params: names of parameters that were given, and are called as secrets are.
        form: of the result.
        options: the others that say what the result is.
        digest: of the file, as it was written.
        keys: columns that tell rows apart.
    """

    sql: str
    folder: str
    sources: tuple[str, ...]
    params: tuple[str, ...]
    secret_params: tuple[str, ...]
    form: str
    options: Mapping[str, Any]
    digest: str = ""
    keys: tuple[str, ...] = ()

    def all_params(self, more: Sequence[str]) -> list[str]:
        """The parameters, those of now before those of then. Raises UsageError where a secret one is not among them."""
        names = {_name(text) for text in more}
        lost = [name for name in self.secret_params if name not in names]
        if lost:
            raise UsageError(
                f"the value of -p {lost[0]} was not kept, as it is called like a secret",
                hint=f"give it again: fff refresh FILE -p {lost[0]}=…",
            )
        return [*more, *(text for text in self.params if _name(text) not in names)]

    def with_params(self, more: Sequence[str]) -> KeptStatement:
        """What the result came of where parameters have had other values."""
        given = [text for text in self.all_params(more) if _name(text) not in self.secret_params]
        return replace(self, params=tuple(given))


def check(arguments: QueryArguments, form: str) -> None:
    """Raise UsageError for options with which no result can be refreshed."""
    if not arguments.refreshable:
        return
    if arguments.output_file is None or arguments.into_folder or is_special(arguments.output_file):
        raise UsageError("--refreshable is for a result in a file", hint="name the file with -O FILE")
    if form not in COMPARED:
        raise UsageError(
            f"a result as {form} cannot be compared with another", hint=f"one of {', '.join(COMPARED)}"
        )
    excluded = {
        "--checkpoint": arguments.checkpoint,
        "--record": arguments.record,
        "--replay": arguments.replay,
        "--no-cache": True if arguments.cache is False else None,
    }
    for name, value in excluded.items():
        if value is not None:
            raise UsageError(
                f"--refreshable and {name} exclude each other", hint="a refresh builds on the cache"
            )
    _key()


def one_result(statements: Sized) -> None:
    """Raise UsageError for several statements."""
    if len(statements) != 1:
        raise UsageError(
            "several statements have several results, and a file is refreshed by one, or added to",
            hint="run them one by one",
        )


def remember(arguments: QueryArguments, texts: Sequence[str], form: str) -> None:
    """Write down what a result came of that is there, whole. Raises UsageError."""
    file = arguments.output_file
    assert file is not None
    secret = [text for text in arguments.params if _is_secret(_name(text).lower())]
    options = {name: getattr(arguments.run, name) for name in _ENGINE}
    about = KeptStatement(
        sql="\n".join(texts),  # a comment may end one
        folder=str(Path.cwd()),
        sources=tuple(str(source.resolve()) for source in arguments.sources),
        params=tuple(text for text in arguments.params if text not in secret),
        secret_params=tuple(map(_name, secret)),
        form=form,
        options={**options, "safe_csv": arguments.safe_csv},
    )
    write(file, about)


def forget(file: Path) -> None:
    """What another result in its place came of is of no use, and would be put there again; what else has that name stays."""
    with contextlib.suppress(OSError, UsageError):
        read(file)
        _beside(file).unlink()


def write(file: Path, about: KeptStatement) -> None:
    """Write down what a result came of, with what the file is now. Raises UsageError."""
    path = _beside(file)
    data = {"format": _FORMAT, **asdict(replace(about, digest=_digest(file)))}
    try:
        replaced(path, json.dumps(data | {"mac": _mac(data)}, indent=1).encode())
    except OSError as error:
        raise UsageError(f"cannot write {str(path)!r}: {error.strerror}") from error


def read(file: Path) -> KeptStatement:
    """What a result came of. Raises UsageError where nobody of this account has written that down."""
    path = _beside(file)
    anew = f"run its query again with --refreshable -O {file}"
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        mac = str(data.pop("mac"))
        if data["format"] != _FORMAT:
            raise UsageError(f"{str(path)!r} is of another version of FFF", hint=anew)
        if not hmac.compare_digest(mac, _mac(data)):
            raise UsageError(
                f"{str(path)!r} was not written by FFF for this user, or changed since: what it says is not run",
                hint=f"look at it; then {anew}",
            )
        del data["format"]
        lists = {name: tuple(value) for name, value in data.items() if isinstance(value, list)}
        options = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in data["options"].items()
        }
        return KeptStatement(**(data | lists | {"options": options}))
    except FileNotFoundError:
        raise UsageError(
            f"it is not known what {str(file)!r} came of: there is no {path.name}", hint=anew
        ) from None
    except OSError as error:
        raise UsageError(f"cannot read {str(path)!r}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError(f"{str(path)!r} is damaged", hint=anew) from None


def check_unchanged(file: Path, about: KeptStatement) -> None:
    """Raise UsageError where a file is there that is not as it was written."""
    if file.exists() and _digest(file) != about.digest:
        raise UsageError(
            f"{str(file)!r} is not as FFF wrote it: somebody has changed it since",
            hint="--overwrite replaces it all the same",
        )


def _beside(file: Path) -> Path:
    return Path(f"{file}{STATEMENT}")


def _is_secret(name: str) -> bool:
    return name in SECRET_PARAMS or any(word in name for word in _SECRET_WORDS)


def _name(param: str) -> str:
    return param.partition("=")[0].partition(":")[0]


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as data:
            return hashlib.file_digest(data, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"cannot read {str(file)!r}: {error.strerror}") from error


def _mac(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, sort_keys=True).encode()
    return hmac.new(_key(), text, hashlib.sha256).hexdigest()


def _key() -> bytes:
    """What only this user's FFF knows: a stranger's folder must not say what is run. Raises UsageError."""
    state = state_folder()
    if state is not None:
        folder = state / "refresh"
        try:
            if made(folder):
                return secret_key(folder)
        except OSError:
            pass
    raise UsageError(
        "there is no place of your own to keep the key that marks results as yours",
        hint="set XDG_STATE_HOME to a folder",
    )
