"""Python read without running it: dictionaries of constants out of a module's syntax, what is computed as such."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fff.errors import UsageError

_DEEPEST = 100  # values in values, names for names


@dataclass(frozen=True)
class ComputedValue:
    """A value that only running the program would tell, as it is written."""

    text: str


@dataclass(frozen=True)
class MadeByCall:
    """What a call of a class makes: its name, and what it is given by name."""

    name: str
    arguments: Mapping[str, Any]


def dictionaries(
    text: str, where: str, wanted: Callable[[set[str]], bool]
) -> list[tuple[str, dict[str, Any]]]:
    """The dictionaries of a module whose keys are as wanted, each with the name of the function around it.

    Raises UsageError where it is no Python.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"{where}: not valid Python: {error}") from error
    dictionaries_read: list[tuple[str, dict[str, Any]]] = []
    try:
        _visit(tree, "", {}, wanted, dictionaries_read)
    except RecursionError as error:
        raise UsageError(f"{where}: nested too deeply") from error
    return dictionaries_read


def _visit(
    node: ast.AST,
    function: str,
    names: Mapping[str, ast.expr | None],
    wanted: Callable[[set[str]], bool],
    dictionaries_read: list[tuple[str, dict[str, Any]]],
) -> None:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        function = node.name
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
        names = {**names, **_assigned(node)}
    if isinstance(node, ast.Dict) and wanted(_texts(node)):
        read = _LiteralReader(names).value(node, 0)
        if isinstance(read, dict):
            dictionaries_read.append((function, read))
        return
    for child in ast.iter_child_nodes(node):
        _visit(child, function, names, wanted, dictionaries_read)


def _texts(node: ast.Dict) -> set[str]:
    """The keys that are plain text."""
    texts = (key.value for key in node.keys if isinstance(key, ast.Constant))
    return {key for key in texts if isinstance(key, str)}


def _assigned(scope: ast.AST) -> dict[str, ast.expr | None]:
    """What each name of a scope is; None for one that is said twice, or is an argument."""
    known: dict[str, ast.expr | None] = {}
    arguments = getattr(scope, "args", None)
    if isinstance(arguments, ast.arguments):
        known |= dict.fromkeys(one.arg for one in [*arguments.args, *arguments.kwonlyargs])
    for node in getattr(scope, "body", ()):
        target, value = None, None
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign):
            target, value = node.target, node.value
        if isinstance(target, ast.Name):
            known[target.id] = None if target.id in known else value
    return known


class _LiteralReader:
    def __init__(self, names: Mapping[str, ast.expr | None]) -> None:
        self._names = names

    def value(self, node: ast.expr | None, depth: int) -> Any:
        """A value of constants, with `ComputedValue` in the place of all else."""
        if node is None or depth > _DEEPEST:
            return None
        below = depth + 1
        match node:
            case ast.Constant(value=value):
                return (
                    value
                    if isinstance(value, str | int | float | bool | None)
                    else ComputedValue(repr(value))
                )
            case ast.Dict(keys=keys, values=values):
                return {
                    key.value: self.value(item, below)
                    for key, item in zip(keys, values, strict=True)
                    if isinstance(key, ast.Constant) and isinstance(key.value, str)
                }
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self.value(item, below) for item in items]
            case ast.Name(id=name) if self._names.get(name) is not None:
                return self.value(self._names[name], below)
            case ast.IfExp(body=chosen):  # `{…} if token else None`
                return self.value(chosen, below)
            case ast.JoinedStr(values=parts):
                return "".join(self._part(part, below) for part in parts)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), keywords=keywords):
                return MadeByCall(
                    name, {one.arg: self.value(one.value, below) for one in keywords if one.arg}
                )
        return ComputedValue(ast.unparse(node)[:200])

    def _part(self, part: ast.expr, depth: int) -> str:
        """A part of an f-string: its text, or what stands between braces as a template of its own."""
        if isinstance(part, ast.FormattedValue):
            known = self.value(part.value, depth)
            return known if isinstance(known, str) else f"<<{ast.unparse(part.value)[:100]}>>"
        return str(part.value) if isinstance(part, ast.Constant) else ""
