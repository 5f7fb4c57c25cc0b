"""The five packages as syntax trees: modules, their imports, the classes they define."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("schemas", "ingest", "stream", "query", "deploy")
FIRST_PARTY = {*PACKAGES, "tests"}


@cache
def sources(folder: str) -> tuple[Path, ...]:
    """The modules below a folder, without those that npm installs."""
    paths = sorted((ROOT / folder).rglob("*.py"))
    return tuple(path for path in paths if "node_modules" not in path.parts)


@cache
def syntax(source: Path) -> ast.Module:
    return ast.parse(source.read_text())


def relative(source: Path) -> str:
    return source.relative_to(ROOT).as_posix()


@cache
def modules() -> dict[str, Path]:
    """Every module of the five packages by the name under which it is imported."""
    return {
        ".".join(source.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): source
        for package in PACKAGES
        for source in sources(package)
    }


@cache
def imported_names(source: Path) -> tuple[str, ...]:
    """Every module name that a file imports, also inside functions and for types only."""
    return tuple(_imported_names(source))


def _imported_names(source: Path) -> Iterator[str]:
    for node in ast.walk(syntax(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in modules() else node.module


def imported_packages(source: Path) -> set[str]:
    """The top-level packages that a file imports."""
    return {name.partition(".")[0] for name in imported_names(source)}


@cache
def import_graph() -> dict[str, frozenset[str]]:
    """Which of our modules each of them imports."""
    return {
        name: frozenset(target for target in imported_names(source) if target in modules())
        for name, source in modules().items()
    }


def classes(source: Path) -> list[str]:
    """The public classes that a module defines at its top level."""
    return [
        node.name
        for node in syntax(source).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
