"""Rules of the house that no linter knows."""

from __future__ import annotations

import ast
import gc
import importlib
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from fff.structs import lazy_pattern
from tests import lengthy

#: One worker parses all modules, once.
pytestmark = pytest.mark.xdist_group("tidy")


@pytest.fixture(scope="module", autouse=True)
def _uncollected() -> Iterator[None]:
    """A million nodes: to look through them again and again takes four times as long as to parse them."""
    gc.disable()
    yield
    modules.cache_clear()
    modules_of_tests.cache_clear()
    gc.enable()


PROJECT = Path(__file__).resolve().parent.parent
ROOTS = {
    "fff": PROJECT,
    "fff_cli": PROJECT / "cli",
    "fff_sources": PROJECT / "sources",
    "fff_experiments": PROJECT / "experiments",
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
    "msgspec": "value classes are its structs, and JSON is read into such",
    "numpy": "row numbers and key codes travel through the whole core as its arrays",
    "pyarrow": "rows travel from the first byte to the result as its batches",
}

#: What every statement loads. There a value class is a struct, unless its fields have one of the ways that structs lack.
LOADED_BY_ALL = (
    *(
        "fff.access",
        "fff.catalog",
        "fff.dataflow",
        "fff.forecast",
        "fff.policies",
        "fff.result",
        "fff.runtime",
        "fff.sql",
    ),
    *("fff.web", "fff_cli.live", "fff_cli.output", "fff_cli.run", "fff_sources.http"),
)
OF_DATACLASSES = {"init", "repr", "compare", "hash"}

#: Modules that are programs of their own: they print to whoever started them and share no library's set-up with us.
PROGRAMS = {
    "fff_cli.serve.web": "the server of `fff serve`, a process that answers with aiohttp while it asks with aiohttp",
    "fff_sources.demo.server": "the demo's web sources, a process that serves with aiohttp what we read with aiohttp",
}


@dataclass
class Module:
    """A module of the product and what its syntax tree says, parsed when a test looks at it."""

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All of the tree: walking costs more than what is looked for."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def imports(self) -> set[str]:
        """Full names, with the imported attribute where there is one."""
        found: set[str] = set()
        package = self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                if node.level:
                    above = package.split(".")[: len(package.split(".")) - node.level + 1]
                    base = ".".join([*above, base] if base else above)
                found |= {base} | {f"{base}.{alias.name}" for alias in node.names}
        return found

    @property
    def strings(self) -> set[str]:
        constants = (node.value for node in self.nodes if isinstance(node, ast.Constant))
        return {value for value in constants if isinstance(value, str)}


@cache
def modules() -> tuple[Module, ...]:
    found = []
    for name, root in ROOTS.items():
        for path in sorted((root / name).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            dotted = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found.append(Module(dotted, path))
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


def circle(found: Iterable[Module]) -> list[str]:
    """Modules that import each other in a loop, imports for types and in functions among them; packages' faces aside."""
    files = {module.name: module for module in found if module.path.name != "__init__.py"}
    try:
        TopologicalSorter({name: module.imports & set(files) for name, module in files.items()}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other() -> None:
    assert circle(modules()) == []


def test_a_circle_of_types_alone_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from b import B\n", encoding="utf-8")
    (tmp_path / "b.py").write_text("if TYPE_CHECKING:\n    from a import A\n", encoding="utf-8")
    assert set(circle(Module(name, tmp_path / f"{name}.py") for name in "ab")) == {"a", "b"}


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
            for node in module.nodes
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "random"
            and node.attr != "Random"
        }
        if impure:
            wrong[module.name] = sorted(impure)
    assert not wrong, offenders(wrong)


def test_what_every_statement_loads_makes_no_dataclasses_without_need() -> None:
    wrong: dict[str, object] = {
        f"{module.name}.{node.name}": "may be a struct (fff.structs)"
        for module in modules()
        if module.name.startswith(LOADED_BY_ALL)
        for node in module.nodes
        if isinstance(node, ast.ClassDef)
        and any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)
        and not any(isinstance(part, ast.keyword) and part.arg in OF_DATACLASSES for part in ast.walk(node))
    }
    assert not wrong, offenders(wrong)


def compiled_at_once(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """The lines where `re.compile` is called while the module is loaded."""
    later: set[ast.AST] = set()
    for node in nodes:  # what holds a node comes before it
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            later |= {part for line in node.body for part in ast.walk(line)}
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile" and node not in later:
            yield node.lineno


def test_patterns_are_compiled_when_they_are_needed() -> None:
    wrong: dict[str, object] = {
        module.name: f"lazy_pattern (fff.structs) may make those of lines {lines}"
        for module in modules()
        if "re.compile" in module.text and (lines := [*compiled_at_once(module.nodes)])
    }
    assert not wrong, offenders(wrong)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("A = re.compile('a')\nB = [re.compile('b')]", [1, 2]),
        ("class A:\n    B = re.compile('b')", [2]),
        ("def f():\n    def g(): return re.compile('a')", []),
        ("A = lazy_pattern('a')", []),
    ],
)
def test_a_pattern_compiled_at_once_is_found(text: str, lines: list[int]) -> None:
    assert [*compiled_at_once(tuple(ast.walk(ast.parse(text))))] == lines


def test_every_pattern_can_be_compiled() -> None:
    """Nobody is told of a wrong one before it is needed."""
    compiled = 0
    for module in modules():
        if "lazy_pattern(" not in module.text or module.name == "fff.structs":
            continue
        made = [*vars(importlib.import_module(module.name)).values()]
        for value in made:  # those within others are looked at in their turn
            if type(value) is lazy_pattern:
                assert value.fullmatch, "it was compiled"  # raises re.error, with its text
                compiled += 1
            elif isinstance(value, tuple | list | dict):
                made += value.values() if isinstance(value, dict) else value
    assert compiled > 250


def test_each_module_is_finished_and_readable() -> None:
    wrong: dict[str, object] = {module.name: told for module in modules() if (told := list(untidy(module)))}
    assert not wrong, offenders(wrong)


def untidy(module: Module) -> Iterator[str]:
    if not ast.get_docstring(module.tree):
        yield "says nothing about itself"
    if module.text.count("\n") > LONGEST_MODULE:
        yield "has grown past reading"
    if unfinished := re.search(r"\b(?:TODO|FIXME|XXX)\b", module.text):
        yield f"says {unfinished[0]}"
    if module.name.partition(".")[0] != "fff_cli" and module.name not in PROGRAMS:
        prints = [
            node.lineno
            for node in module.nodes
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
        ]
        if prints:
            yield f"prints in lines {prints}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1", "says nothing about itself"),
        ('"""Doc."""\n' + "\n" * LONGEST_MODULE, "has grown past reading"),
        ('"""Doc."""\n# TO' + "DO", "says TO" + "DO"),
        ('"""Doc."""\nprint(1)', "prints in lines [2]"),
    ],
)
def test_an_untidy_module_is_found(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text(text, encoding="utf-8")
    assert list(untidy(Module("fff.some", path))) == [told]


@cache
def modules_of_tests() -> tuple[Module, ...]:
    paths = sorted((PROJECT / "tests").rglob("*.py"))
    return tuple(Module(".".join(path.relative_to(PROJECT).with_suffix("").parts), path) for path in paths)


def imported_tests(module: Module) -> list[str]:
    """The imports of modules of tests, but of itself by a program that it runs; text costs a tenth of its tree."""
    imports = re.findall(
        r"^ *(?:from [\w.]*\btest_\w+ import|(?:from [\w.]+ )?import (?:\([^)]*|.*)\btest_\w+).*",
        module.text,
        re.MULTILINE,
    )
    return [line for line in imports if f"{module.name} " not in line]


def test_no_test_imports_another() -> None:
    """Helpers stand in modules of their own, beside the tests of their folder."""
    found = modules_of_tests()
    assert len(found) > 200
    wrong: dict[str, object] = {one.name: others for one in found if (others := imported_tests(one))}
    assert not wrong, offenders(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "from tests.engine.test_engine import INTS",
        "def f():\n    import tests.sql.test_text",
        "from tests.engine import test_engine as engine",
        "from . import test_engine",
        "from test_engine import INTS",
        "from tests.engine import (\n    site,\n    test_engine,\n)",
    ],
)
def test_an_import_of_a_test_is_found(text: str, tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text(text, encoding="utf-8")
    assert len(imported_tests(Module("tests.engine.some", path))) == 1


def checks(node: ast.AST) -> bool:
    """Whether something there can fail a test."""
    return any(
        isinstance(part, ast.Assert | ast.Raise)
        or (isinstance(part, ast.Attribute) and part.attr in ("raises", "warns", "fail"))
        for part in ast.walk(node)
    )


def calls(node: ast.AST) -> set[str]:
    """The names of what is called there."""
    called = (part.func for part in ast.walk(node) if isinstance(part, ast.Call))
    return {
        one.id if isinstance(one, ast.Name) else one.attr
        for one in called
        if isinstance(one, ast.Name | ast.Attribute)
    }


def idle_tests(found: Iterable[Module]) -> list[str]:
    """The tests that nothing can fail, be it in them or in a helper that they call."""
    functions = [
        (module.name, node)
        for module in found
        for node in module.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    judges = {node.name for _, node in functions if checks(node)}
    called = [(node.name, calls(node)) for _, node in functions if node.name not in judges]
    known = 0
    while known != len(judges):
        known = len(judges)
        judges |= {name for name, helpers in called if helpers & judges}
    return [
        f"{module}.{node.name}"
        for module, node in functions
        if node.name.startswith("test_") and node.name not in judges
    ]


def test_those_left_out_of_the_inner_loop_are_there() -> None:
    parts = [name.partition("::") for name in lengthy.names()]
    gone = [
        f"{file}: {test}"
        for file, _, test in parts
        if f"def {test.rpartition('::')[2]}(" not in (PROJECT / file).read_text(encoding="utf-8")
    ]
    assert not gone, "renamed, say; tests/lengthy.py writes the list anew"


@pytest.mark.slow
def test_every_test_can_fail() -> None:
    assert not idle_tests(modules_of_tests())


def test_a_test_that_cannot_fail_is_found(tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text(
        "def look(x): assert x\ndef helped(): look(1)\ndef test_a(): helped()\ndef test_b(): print(helped)",
        encoding="utf-8",
    )
    assert idle_tests([Module("tests.some", path)]) == ["tests.some.test_b"]


#: What an eddy is made of: for the core alone. All others read `Eddy.statistics()` and `Eddy.flow()`.
INSIDE_THE_EDDY = {"block", "router", "lookups"}


def reaches_into_an_eddy(nodes: Sequence[ast.AST]) -> list[str]:
    """Where a module takes from an eddy what is inside it.

    An eddy is what is called so, what is annotated or made as one, and what such a one is assigned to; and `self` in a
    class derived from one.
    """
    found: list[str] = []
    eddies = {"eddy"}

    def is_eddy(node: ast.AST | None) -> bool:
        match node:
            case ast.Name(id=name):
                return name in eddies
            case ast.Attribute(attr=name):
                return name.lstrip("_") == "eddy"
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                return name.endswith("Eddy") and name != "ClassicEddy"
        return False

    for node in nodes:  # breadth first, but names may be passed on in any order: until nothing is new
        match node:
            case ast.arg(arg=name, annotation=ast.Name(id=kind)) if kind.endswith("Eddy"):
                eddies.add(name)
    known = -1
    while known != len(eddies):
        known = len(eddies)
        for node in nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_eddy(value):
                    eddies.add(name)
                case ast.NamedExpr(target=ast.Name(id=name), value=value) if is_eddy(value):
                    eddies.add(name)
    for node in nodes:
        match node:
            case ast.Attribute(value=value, attr=attribute) if attribute in INSIDE_THE_EDDY and is_eddy(
                value
            ):
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
            case ast.ClassDef(bases=bases) if any(
                isinstance(base, ast.Name) and base.id == "Eddy" for base in bases
            ):
                found += [
                    f"line {part.lineno}: {ast.unparse(part)}"
                    for part in ast.walk(node)
                    if isinstance(part, ast.Attribute)
                    and part.attr in INSIDE_THE_EDDY
                    and isinstance(part.value, ast.Name)
                    and part.value.id == "self"
                ]
    return found


def test_only_the_core_looks_inside_an_eddy() -> None:
    wrong: dict[str, object] = {
        module.name: reached
        for module in modules()
        if not module.name.startswith("fff.dataflow")
        and "eddy" in module.text.lower()  # without the word nothing is one
        and (reached := reaches_into_an_eddy(module.nodes))
    }
    assert not wrong, "`Eddy.statistics()` tells it\n" + offenders(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "rows = self.eddy.block.stems",
        "def f(one: Eddy): return one.router.emitted",
        "one = RecordedEddy(plan)\nother = one\nother.lookups.idle",
        "class Told(Eddy):\n    def f(self): return self.block",
        "[block.eddy.block.cancelled for block in blocks]",
        "getattr(run.eddy, 'x').y = run._eddy.router",
    ],
)
def test_a_look_inside_an_eddy_is_found(text: str) -> None:
    assert reaches_into_an_eddy(tuple(ast.walk(ast.parse(text))))


def test_what_an_eddy_tells_may_be_asked_for() -> None:
    tree = ast.parse("running.block.query; self.router.route; eddy.statistics().tables")
    assert not reaches_into_an_eddy(tuple(ast.walk(tree)))


def named_twice(found: tuple[Module, ...]) -> dict[str, object]:
    """The classes that share a name, by it."""
    named: dict[str, list[str]] = {}
    for module in found:
        for node in module.nodes:
            if isinstance(node, ast.ClassDef):
                named.setdefault(node.name, []).append(module.name)
    return {name: places for name, places in named.items() if len(places) > 1}


def test_a_class_is_called_like_no_other() -> None:
    wrong = named_twice(modules())
    assert not wrong, "several classes are called\n" + offenders(wrong)


def test_a_name_that_two_classes_have_is_found(tmp_path: Path) -> None:
    texts = {"one": "class Page: ...", "two": "def f():\n    class Page: ..."}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert named_twice(tuple(Module(name, tmp_path / name) for name in texts)) == {"Page": ["one", "two"]}


LONGEST_LINE = 110
#: Parts whose prose is still wider in places.
STILL_WIDE = (
    *("fff.access", "fff.dataflow", "fff.result", "fff.runtime", "fff.simulation", "fff.sql", "fff.web"),
    *("fff.budget", "fff.errors", "fff.execution", "fff.federation", "fff.limits", "fff.opening"),
    *("fff.options", "fff.quals", "fff.schema", "fff.stats", "fff.version"),
)


def wide_prose(module: Module) -> list[int]:
    """The lines of comments and docstrings that do not fit; a docstring's first line is one, however long."""
    lines = module.text.splitlines()
    prose = {number for number, line in enumerate(lines, 1) if re.match(" *#", line)}
    if max(map(len, lines), default=0) <= LONGEST_LINE:
        return []
    for node in module.nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (
            ast.get_docstring(node) is not None
        ):
            prose |= {*range(node.body[0].lineno + 1, (node.body[0].end_lineno or 0) + 1)}
    return sorted(number for number in prose if len(lines[number - 1]) > LONGEST_LINE)


def test_prose_fits_the_page() -> None:
    """What ruff does not see, because it leaves long literals whole."""
    wrong: dict[str, object] = {
        module.name: found
        for module in modules()
        if not module.name.startswith(STILL_WIDE) and (found := wide_prose(module))
    }
    assert not wrong, offenders(wrong)


def test_wide_prose_is_found(tmp_path: Path) -> None:
    path, wide = tmp_path / "some.py", "x" * (LONGEST_LINE + 1)
    path.write_text(f'"""{wide}\n\n{wide}\n"""\n# {wide}\nx = "{wide}"  # of them\n', encoding="utf-8")
    assert wide_prose(Module("fff.some", path)) == [3, 5]


FEW_ENOUGH = 12


def packages() -> list[Module]:
    return [module for module in modules() if module.path.name == "__init__.py"]


def test_a_package_is_small_and_names_what_is_in_it() -> None:
    wrong: dict[str, object] = {}
    for package in packages():
        text = ast.get_docstring(package.tree) or ""
        folder = package.path.parent
        inside = [path.stem for path in folder.glob("*.py") if path.stem not in ("__init__", "__main__")]
        inside += [f"{path.parent.name}/" for path in folder.glob("*/__init__.py")]
        files = [name for name in inside if not name.endswith("/")]
        if len(files) > FEW_ENOUGH:
            wrong[f"{package.name} is large"] = f"{len(files)} files in one folder"
        unnamed = [name for name in inside if not re.search(rf"(?<![\w/]){name.rstrip('/')}(?!\w)", text)]
        if unnamed:
            wrong[package.name] = f"its docstring does not name {', '.join(sorted(unnamed))}"
        if package.name != "pyspark_fff" and "docs/glossary.md" not in text:
            wrong[f"{package.name} and its words"] = "its docstring does not say where they are explained"
    assert not wrong, offenders(wrong)


def test_every_folder_of_modules_is_a_package() -> None:
    bare = {module.path.parent for module in modules() if not (module.path.parent / "__init__.py").exists()}
    assert not bare


@pytest.mark.parametrize("page", ["architecture.md", "glossary.md", "development.md"])
def test_files_that_the_maps_name_exist(page: str) -> None:
    text = (PROJECT / "docs" / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:fff|cli|sources|experiments|tests|docs)/[\w./-]*)`", text)
    assert [path for path in named if not (PROJECT / path).exists()] == []
