"""A spec file as plain data that remembers the line of every key. The only importer of PyYAML."""

from __future__ import annotations

import codecs
import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from fff.errors import SpecError
from fff.structs import lazy_pattern

Key = str | int
KeyPath = tuple[Key, ...]

Loader: TypeAlias = "yaml.SafeLoader | yaml.CSafeLoader"

_MAX_NODES = 200_000  # anchors can multiply; no honest spec comes near
_KEY = lazy_pattern(r"\s*(?:- +)?[\w-]+:( |$)")
#: Numbers and truth values to every reader of YAML.
_SURE = lazy_pattern(r"-?(0|[1-9]\d*)|[tT]rue|[fF]alse|TRUE|FALSE")
_NUMBER = lazy_pattern(r"-?((0|[1-9]\d*)\.\d*|\.\d+)([eE][-+]?\d+)?")
#: Blanks of web pages and word processors that are none to YAML: at either end of a key, or behind its colon.
_ODD = r"[\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000\ufeff]"
_ODD_BLANK = lazy_pattern(rf"^\s*(?:- +)?({_ODD})|:({_ODD})|({_ODD})\s*(?::|$)")
_DEEP = 10_000  # levels that may lie in each other, at most


class PlainScalar(str):
    """A scalar without quotes that YAML takes for a number or a truth value which is written otherwise, as text.

    `1.10` is 1.1 to everybody (`number`). `00501`, `12:30`, `0x1F` and `no` are other values to other
    readers.
    """

    __slots__ = ("number",)

    def __init__(self, text: str) -> None:
        self.number = float(text) if _NUMBER.fullmatch(text) else None


@dataclass
class Document:
    """One spec file: its data, and where in the text each part of it stands."""

    file: str
    data: Any
    lines: dict[KeyPath, int] = field(default_factory=dict, repr=False)
    problems: list[SpecError] = field(default_factory=list)  # what is wrong with it as YAML
    digest: str = ""  # of the file's bytes
    text: str = field(default="", repr=False)

    @property
    def folder(self) -> Path:
        """The folder of the file; relative paths in the spec start here."""
        return Path(self.file).parent

    def line(self, path: Sequence[Key]) -> int | None:
        """The line of a key, or of the nearest part of its path that stands in the text."""
        for length in range(len(path), 0, -1):
            if (line := self.lines.get(tuple(path[:length]))) is not None:
                return line
        return None

    def place(self, path: Sequence[Key]) -> str:
        """A key path as errors name it: file, line, key."""
        return f"{self.file}:{self.line(path) or 1}: {dotted(path)}"

    def error(self, path: Sequence[Key], message: str, *, hint: str | None = None) -> SpecError:
        """A SpecError at a key path."""
        return SpecError(message, file=self.file, path=dotted(path), line=self.line(path), hint=hint)


def texts(value: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Every text in a part of a document that stands at `path`, and its own key path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from texts(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from texts(item, (*path, index))


def dotted(path: Sequence[Key]) -> str:
    """`("tables", "crime", "scan", 0)` as `tables.crime.scan[0]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def read_document(path: Path) -> Document:
    """The file as data.

    Raises SpecError where it cannot be read or is not YAML; repeated keys become problems.
    """
    try:
        data = path.read_bytes()
        text = data.decode("utf-8")
    except OSError as error:
        raise SpecError(f"cannot be read: {error.strerror}", file=str(path)) from error
    except UnicodeDecodeError as error:
        wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        line = 1 if wide else data.count(b"\n", 0, error.start) + 1
        what = "it is in UTF-16" if wide else f"byte {error.start + 1} is not UTF-8 text"
        raise SpecError(
            f"cannot be read: {what}", file=str(path), line=line, hint="save it as UTF-8"
        ) from error
    document = parse_document(text, str(path))
    document.digest = hashlib.sha256(data).hexdigest()
    return document


def parse_document(text: str, file: str, *, as_written: bool = True) -> Document:
    """The same from text, as `PlainScalar`s `as_written` where YAML reads something else.

    Raises SpecError with the line of a YAML error.
    """
    document = Document(file, None, text=text)
    try:
        loader, node = _nodes(text)
        if node is not None:
            document.data = _Builder(loader, document, as_written=as_written).build(node, ())
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else None
        lines = text.splitlines()[: line or 0]
        problem, hint = _in_plain_words(error.problem or "", lines)
        for back, one in enumerate(lines[:-3:-1]):  # seen here, or where the next line does not go with it
            if (odd := _ODD_BLANK.search(one)) is not None:
                line, (problem, hint) = len(lines) - back, _odd_blank(odd)
                break
        raise SpecError(f"not valid YAML: {problem}", file=file, line=line, hint=hint) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise SpecError("not valid YAML", file=file) from error
    return document


def _nodes(text: str) -> tuple[Loader, yaml.Node | None]:
    """The text as a tree, by libyaml where it takes it: eight times as fast. Raises YAMLError.

    Errors are PyYAML's own, in words that `_in_plain_words` knows, and so is what might overflow C's stack.
    """
    if yaml.__with_libyaml__ and _deepest(text) < _DEEP:
        with suppress(yaml.YAMLError):
            quick = yaml.CSafeLoader(text)
            return quick, quick.get_single_node()
    loader = yaml.SafeLoader(text)
    return loader, loader.get_single_node()


def _deepest(text: str) -> int:
    """How many levels can lie in each other at most: all brackets, and what one line is indented by and opens itself.

    A list may stand at the indentation of the key that it belongs to, which makes two levels of one.
    """
    brackets = text.count("[") + text.count("{")
    steps = (len(line) - len(line.lstrip()) + line.count("-") + line.count("?") for line in text.splitlines())
    return brackets + 2 * max(steps, default=0)


def _is_too_deep(lines: Sequence[str]) -> bool:
    """Whether the last line is a key that stands deeper than the one above it, which has a value already."""
    written = [line for line in lines if line.strip() and not line.lstrip().startswith("#")][-2:]
    depths = [len(line) - len(line.lstrip()) for line in written]
    return len(depths) == 2 and depths[0] < depths[1] and all(_KEY.match(line) for line in written)


def _in_plain_words(problem: str, lines: Sequence[str]) -> tuple[str, str | None]:
    """What is wrong with YAML, and what to do about it, for the mistakes that people make most.

    `lines` end with the one that the problem was seen in.
    """
    if "'\\t'" in problem:
        return "a tab, where YAML takes spaces alone", "indent with spaces, two for each level"
    if problem.startswith("expected <block end>"):
        return (
            "this line is indented like none of those that it belongs to",
            "lines of one mapping or list begin in one column; count the spaces of this line and of those above it",
        )
    if problem.startswith("mapping values are not allowed") and _is_too_deep(lines):
        return (
            "this line is indented deeper than the key above it, which has a value already",
            "lines of one mapping begin in one column; what lies in a key stands below it, and nothing behind its colon",
        )
    if problem.startswith(("mapping values are not allowed", "could not find expected ':'")):
        return problem, "put text with a colon in it in quotes, and a space behind the colon of a key"
    if problem.startswith("found unexpected end of stream"):
        return (
            "a quote is opened and not closed",
            "close it on its line, or leave out quotes that are not needed",
        )
    if problem.startswith(("expected ',' or", "did not find expected ',' or")):
        return (
            "a bracket or brace is opened and not closed",
            "close it on its line, or give each part a line of its own",
        )
    return problem, None


def _odd_blank(match: re.Match[str]) -> tuple[str, str]:
    """What is wrong with a blank that looks like a space, and what to do."""
    char = next(filter(None, match.groups()))
    name = unicodedata.name(char, "a blank").lower()
    return f"U+{ord(char):04X} ({name}), where YAML takes spaces", "put plain spaces in its place"


class _Builder:
    """Turns a node tree into data, noting lines and repeated keys."""

    def __init__(self, loader: Loader, document: Document, *, as_written: bool) -> None:
        self._loader = loader
        self._document = document
        self._as_written = as_written
        self._nodes = 0

    def build(self, node: yaml.Node, path: KeyPath) -> Any:
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise SpecError("too large when its anchors are written out", file=self._document.file)
        self._document.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        value = self._loader.construct_object(node, deep=True)
        text = node.value
        if not self._as_written or getattr(node, "style", None) or not isinstance(value, int | float):
            return value
        is_sure = _SURE.fullmatch(text) or (isinstance(value, float) and str(value) == text)
        return value if is_sure else PlainScalar(text)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        written = [(key, value) for key, value in node.value if key.tag != "tag:yaml.org,2002:merge"]
        self._loader.flatten_mapping(node)
        own = {id(key) for key, _ in written}
        data: dict[str, Any] = {}
        seen: set[str] = set()
        # Merged keys come first in a flattened node, so that the mapping's own keys win.
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                line = key_node.start_mark.line + 1
                raise SpecError("keys must be plain text", file=self._document.file, line=line)
            # As written: `on`, `no` and 404 are names here, not truth values and numbers.
            key = key_node.value
            if self._as_written and not key_node.style and (odd := _ODD_BLANK.search(key)) is not None:
                problem, hint = _odd_blank(odd)
                line = key_node.start_mark.line + 1
                hint += ", or the name in quotes where it has it"
                raise SpecError(f"not valid YAML: {problem}", file=self._document.file, line=line, hint=hint)
            here = (*path, key)
            if id(key_node) in own:
                if key in seen:
                    self._document.problems.append(
                        SpecError(
                            "stands here a second time",
                            file=self._document.file,
                            path=dotted(here),
                            line=key_node.start_mark.line + 1,
                            hint="keep one of the two",
                        )
                    )
                    continue
                seen.add(key)
            self._document.lines[here] = key_node.start_mark.line + 1
            data[key] = self.build(value_node, here)
        return data
