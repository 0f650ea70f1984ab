"""Which spec files there are, which adapter reads each source in them, and what is wrong with them."""

from __future__ import annotations

import contextlib
import difflib
import functools
import importlib
import importlib.metadata
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from fff.catalog import Catalog, SourceAdapter
from fff.errors import FFFError, SpecError, UsageError
from fff.options import SpecText
from fff.web.addresses import believe_as_usual
from fff.web.client import WebClient
from fff_sources.adapter import AdapterFactory, SourceContext
from fff_sources.document import Document, parse_document, read_document
from fff_sources.files.named import FILES, FORMATS, NamedFiles
from fff_sources.trust import SpecStanding, TrustStore, config_folder

_LOOKED_AT = 1 << 16  # characters of a file that may be a spec
VERSION = 1  # of the spec format
_GROUP = "fff.sources"
_BUILT_IN = {"rest": "fff_sources.rest:RestSource"}  # found without installed metadata, too
_ENDINGS = frozenset({".yaml", ".yml"})
BUNDLED = Path(__file__).parent / "catalog"
INDEX = BUNDLED / "tables.txt"


def load_catalog(
    paths: Sequence[Path | SpecText],
    *,
    environ: Mapping[str, str],
    cwd: Path,
    client: WebClient,
    local_files: bool = True,
) -> Catalog:
    """The tables of the given spec files and folders or, without any, of the usual places; the bundled catalog last.

    The usual places are FFF_SOURCES (a path list) or, where it is not set, `./fff.yaml`, `./sources/` and
    `$XDG_CONFIG_HOME/fff/`. A source of a name that came before is left out. Nothing is sent; no secret is
    looked up. What is found in the working folder is nobody's word yet: see `trust`. Files of this machine
    are tables by their names, unless a source of a spec is called like their format, or `local_files` is off.
    The bundled sources are offered: each is a file of its name, read when somebody asks for it; which one
    has a table of some name is in the catalog's index.

    Raises:
        SpecError: a spec is wrong. Files of `./sources/` that are no specs are passed over.
        UsageError: a path does not exist.
    """
    catalog = Catalog()
    read: list[tuple[Document, bool, bool]] = []
    store, bundled = TrustStore(environ), _bundled_files()
    for document, own, named in _documents(paths, environ, cwd):
        read.append((document, own, named))
        problems = outer_problems(document)
        if problems:
            raise problems[0]
        standing = None if own else SpecStanding(document, store, named)
        for name in document.data["sources"]:
            shadows = str(name).lower() in bundled
            context = SourceContext(name, document, environ, cwd, client, standing, shadows)
            catalog.add(_factory(context).from_spec(context))
    if local_files:
        for name in FORMATS:
            catalog.offer(name, functools.partial(NamedFiles, name, cwd=cwd, environ=environ, client=client))
        catalog.add(NamedFiles(FILES, cwd=cwd, environ=environ, client=client))
    catalog.unread = functools.partial(_unread, cwd, [Path(document.file) for document, _, _ in read])
    catalog.specs = functools.partial(_spec_texts, read, store)
    for name, file in bundled.items():
        catalog.offer(name, functools.partial(_bundled, file, environ, cwd, client))
    catalog.index = _index
    return catalog


def _bundled(file: Path, environ: Mapping[str, str], cwd: Path, client: WebClient) -> SourceAdapter:
    """A source of the bundled catalog."""
    context = SourceContext(file.stem, read_document(file), environ, cwd, client)
    return _factory(context).from_spec(context)


@functools.cache
def _bundled_files() -> dict[str, Path]:
    """The bundled specs by the names of their sources; looked for once, since to list a hundred takes long."""
    return {file.stem: file for file in _folder(BUNDLED)}


@functools.cache
def _index() -> dict[str, frozenset[str]]:
    """What each bundled source has, without reading a hundred specs: a line each, made by `python -m tests.catalog`."""
    lines = (line.split() for line in INDEX.read_text(encoding="utf-8").splitlines())
    return {source: frozenset(tables) for source, *tables in lines}


def lint(
    path: Path,
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    client: WebClient | None = None,
) -> list[SpecError]:
    """Everything that is wrong with a spec file, or with the files of a folder, missing secrets included."""
    cwd = cwd or Path.cwd()
    environ = os.environ if environ is None else environ
    client = client or WebClient()
    problems: list[SpecError] = []
    for file in _folder_or_file(path, cwd):
        try:
            document = read_document(file)
        except SpecError as error:
            problems.append(error)
            continue
        problems += lint_document(document, environ=environ, cwd=cwd, client=client)
    return sorted(problems, key=lambda error: (error.file or "", error.line or 0))


def says_draft(problem: SpecError) -> bool:
    """Whether a mistake is that a table is a draft, which hinders none of the others."""
    return (problem.path or "").endswith(".unfinished")


def lint_document(
    document: Document, *, environ: Mapping[str, str], cwd: Path, client: WebClient
) -> list[SpecError]:
    """Everything that is wrong with one spec."""
    problems = outer_problems(document)
    if problems and not _readable(document):
        return problems
    for name in document.data["sources"]:
        context = SourceContext(name, document, environ, cwd, client)
        try:
            problems += _factory(context).lint(context)
        except SpecError as error:
            problems.append(error)
    return problems


def bundled_names() -> frozenset[str]:
    """The sources of the bundled catalog, in lower case."""
    return frozenset(_bundled_files())


def known_types() -> list[str]:
    """The values `type:` may have."""
    return sorted({*_BUILT_IN, *(entry.name for entry in _installed(tuple(sys.path)))})


@functools.cache
def _installed(_path: tuple[str, ...]) -> Sequence[importlib.metadata.EntryPoint]:
    """The adapters of all packages on Python's path: to look takes milliseconds, and each source of a spec wants one."""
    return tuple(importlib.metadata.entry_points(group=_GROUP))


def _documents(
    paths: Sequence[Path | SpecText], environ: Mapping[str, str], cwd: Path
) -> Iterator[tuple[Document, bool, bool]]:
    """Specs in order of precedence, texts first; of each, whether it is the user's own, and was named."""
    for path in paths:
        if isinstance(path, SpecText):
            yield parse_document(path.text, path.file), path.whose == "own", path.whose == "named"
    files = [path for path in paths if not isinstance(path, SpecText)]
    if paths and not files:
        return
    for file, strict, own, named in _files(files, environ, cwd):
        document = read_document(file) if strict else _spec_or_none(file)
        if document is not None:
            yield document, own, named


def _spec_texts(read: Sequence[tuple[Document, bool, bool]], store: TrustStore) -> list[SpecText]:
    """What was read, for machines that neither have the files nor know whom this user trusts. Raises UsageError."""
    return [
        SpecText(
            document.file,
            document.text,
            "own" if own or store.holds(document) else "named" if named else "found",
        )
        for document, own, named in read
    ]


def _files(
    paths: Sequence[Path], environ: Mapping[str, str], cwd: Path
) -> Iterator[tuple[Path, bool, bool, bool]]:
    """Spec files in order of precedence; of each, whether it must be one, whether it is the user's own, and was named."""
    config = config_folder(environ)
    at_home = config is not None and cwd.resolve().is_relative_to(config.resolve())
    named = list(paths) or [Path(part) for part in environ.get("FFF_SOURCES", "").split(os.pathsep) if part]
    for path in named:
        for file in _folder_or_file(path, cwd):
            yield file, True, False, True
    if not named:
        if (cwd / "fff.yaml").is_file():
            yield cwd / "fff.yaml", True, at_home, False
        yield from ((file, False, at_home, False) for file in _folder(cwd / "sources"))
        if config is not None:
            yield from ((file, False, True, False) for file in _folder(config))


def _folder_or_file(path: Path, cwd: Path) -> list[Path]:
    full = cwd / path.expanduser()
    if full.is_dir():
        if files := _folder(full):
            return files
        raise UsageError(
            f"{path}: no spec is in this folder: no file that ends in .yaml or .yml",
            hint="name another, or write one: fff source init URL",
        )
    if not full.exists():
        close = [full.with_name(full.name + ending) for ending in sorted(_ENDINGS)]
        near = next((path.with_name(one.name) for one in close if one.is_file()), None)
        hint = f"did you mean {near}?" if near else "name another, or write one: fff source init URL"
        raise UsageError(f"{path}: no such spec file or folder", hint=hint)
    return [full]


def _folder(path: Path) -> list[Path]:
    if not path.is_dir():
        return []
    return sorted(file for file in path.iterdir() if file.suffix in _ENDINGS and file.is_file())


def _unread(cwd: Path, read: Sequence[Path]) -> list[str]:
    """Files of the working folder that look like specs, and were not read."""
    known = {file.resolve() for file in read}
    with contextlib.suppress(OSError):
        return [file.name for file in _folder(cwd) if file.resolve() not in known and _says_sources(file)]
    return []


def _says_sources(file: Path) -> bool:
    with file.open(encoding="utf-8", errors="replace") as text:
        return any(line.startswith("sources:") for line in text.readlines(_LOOKED_AT))


def _spec_or_none(file: Path) -> Document | None:
    """A file met by chance: a spec only if it says `version:` and `sources:`."""
    try:
        document = read_document(file)
    except SpecError:
        text = file.read_text(encoding="utf-8", errors="replace").replace("\0", "").lstrip("\ufffd")  # UTF-16
        if text.startswith("version:") or "\nversion:" in text:
            raise  # meant to be a spec
        return None
    return (
        document
        if isinstance(document.data, dict) and {"version", "sources"} <= document.data.keys()
        else None
    )


def _readable(document: Document) -> bool:
    return isinstance(document.data, dict) and isinstance(document.data.get("sources"), dict)


def outer_problems(document: Document) -> list[SpecError]:
    """What is wrong outside of the sources."""
    data = document.data
    if not isinstance(data, dict):
        return [document.error((), "is not a spec: it must have version: and sources:")]
    problems = list(document.problems)
    for key in data:
        if key not in ("version", "sources"):
            close = difflib.get_close_matches(str(key), ["version", "sources"], n=1)
            hint = f"did you mean {close[0]!r}?" if close else "known here: sources, version"
            problems.append(document.error((str(key),), "unknown key", hint=hint))
    if "version" not in data:
        problems.append(document.error(("version",), "is missing", hint=f"add version: {VERSION}"))
    elif data["version"] != VERSION or isinstance(data["version"], bool):
        problems.append(document.error(("version",), f"must be {VERSION}, not {data['version']!r}"))
    sources = data.get("sources")
    if not isinstance(sources, dict) or not sources:
        problems.append(document.error(("sources",), "must name at least one source"))
        return problems
    for name in sources:
        if not isinstance(name, str) or not name.replace("_", "a").replace("-", "a").isalnum():
            problem = "a source's name is letters, digits, - and _"
            problems.append(document.error(("sources", str(name)), problem))
    return problems


def _factory(context: SourceContext) -> AdapterFactory:
    """The adapter a source's `type:` names."""
    raw = context.document.data["sources"][context.name]
    kind: Any = raw.get("type", "rest") if isinstance(raw, dict) else "rest"
    if isinstance(kind, str) and kind in _BUILT_IN:  # whoever uses no other need not look for any
        module, _, name = _BUILT_IN[kind].partition(":")
        return cast("AdapterFactory", getattr(importlib.import_module(module), name))
    for entry in _installed(tuple(sys.path)):
        if entry.name == kind:
            believe_as_usual(sys.modules["aiohttp.connector"])  # it may connect without our client
            try:
                return cast("AdapterFactory", entry.load())
            except FFFError:
                raise
            except Exception as error:
                raise context.document.error(
                    ("sources", context.name, "type"),
                    f"the adapter {kind!r} cannot be loaded: {type(error).__name__}: {error}",
                    hint=f"{entry.value} of the package {entry.dist and entry.dist.name} is at fault",
                ) from error
    raise context.document.error(
        ("sources", context.name, "type"),
        f"{kind!r} is no known type",
        hint=f"known types: {', '.join(known_types())}",
    )
