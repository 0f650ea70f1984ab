"""Rules of the house that no linter knows."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
ROOTS = {
    "fff": PROJECT,
    "fff_cli": PROJECT / "cli",
    "fff_sources": PROJECT / "sources",
    "pyspark_fff": PROJECT,
}
PURE = ("fff.dataflow", "fff.policies")
IMPURE = {
    "asyncio",
    "aiohttp",
    "concurrent",
    "datetime",
    "io",
    "logging",
    "os",
    "pathlib",
    "socket",
    "subprocess",
    "threading",
    "time",
}
LONGEST_MODULE = 500

#: Libraries that several modules may import, and why.
VOCABULARY = {
    "numpy": "row numbers and key codes travel through the whole core as its arrays",
    "pyarrow": "rows travel from the first byte to the result as its batches",
}

#: Modules that are programs of their own: they print to whoever started them and share no library's set-up with us.
PROGRAMS = {
    "fff_sources.demo.server": "the demo's web sources, a process that serves with aiohttp what we read with aiohttp",
}


@dataclass
class Module:
    """A module of the product and what its syntax tree says."""

    name: str
    path: Path
    text: str = field(repr=False)
    tree: ast.Module = field(repr=False)
    imports: set[str] = field(
        default_factory=set
    )  # full names, with the imported attribute where there is one
    strings: set[str] = field(default_factory=set, repr=False)

    def __post_init__(self) -> None:
        package = self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                self.imports |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                if node.level:
                    above = package.split(".")[: len(package.split(".")) - node.level + 1]
                    base = ".".join([*above, base] if base else above)
                self.imports |= {base} | {f"{base}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self.strings.add(node.value)


@cache
def modules() -> tuple[Module, ...]:
    found = []
    for name, root in ROOTS.items():
        for path in sorted((root / name).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            dotted = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            text = path.read_text(encoding="utf-8")
            found.append(Module(dotted, path, text, ast.parse(text)))
    return tuple(found)


def offenders(wrong: dict[str, object]) -> str:
    return "\n".join(f"{name}: {what}" for name, what in sorted(wrong.items()))


def test_there_is_something_to_look_at() -> None:
    assert {module.name.partition(".")[0] for module in modules()} == set(ROOTS)
    assert len(modules()) > 20


def test_each_library_is_imported_by_one_module() -> None:
    ours = {*ROOTS, *sys.stdlib_module_names}
    importers: dict[str, set[str]] = {}
    for module in modules():
        if module.name in PROGRAMS:
            continue
        for library in {name.partition(".")[0] for name in module.imports} - ours - set(VOCABULARY):
            importers.setdefault(library, set()).add(module.name)
    wrong: dict[str, object] = {
        library: sorted(names) for library, names in importers.items() if len(names) > 1
    }
    assert not wrong, "several modules import\n" + offenders(wrong)


def test_no_module_is_dead() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["scripts"], *project.get("entry-points", {}).values()]
    alive = {target.partition(":")[0] for group in groups for target in group.values()}
    for module in modules():
        # A module named in a string is loaded by that name, on first use.
        alive |= {name for name in module.imports | module.strings if name != module.name}
    dead = [
        m.name
        for m in modules()
        if m.name not in alive and m.name not in ROOTS and not m.name.endswith("__main__")
    ]
    dead = [name for name in dead if not any(other.startswith(f"{name}.") for other in alive)]
    assert not dead, f"nothing imports {', '.join(dead)}"


def test_the_pure_core_is_pure() -> None:
    wrong: dict[str, object] = {}
    for module in modules():
        if not module.name.startswith(PURE):
            continue
        impure = {name.partition(".")[0] for name in module.imports} & IMPURE
        # random.Random is the type of the generator that is passed in; everything else there is global.
        impure |= {name for name in module.imports if name.startswith("random.") and name != "random.Random"}
        impure |= {
            f"random.{node.attr}"
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "random"
            and node.attr != "Random"
        }
        if impure:
            wrong[module.name] = sorted(impure)
    assert not wrong, offenders(wrong)


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_module(module: Module) -> None:
    assert ast.get_docstring(module.tree), "says nothing about itself"
    assert module.text.count("\n") <= LONGEST_MODULE, "has grown past reading"
    unfinished = re.search(r"\b(?:TODO|FIXME|XXX)\b", module.text)
    assert unfinished is None, f"says {unfinished[0]}"
    if module.name.partition(".")[0] != "fff_cli" and module.name not in PROGRAMS:
        prints = [
            node.lineno
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
        ]
        assert not prints, f"prints in lines {prints}"
