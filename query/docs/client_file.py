"""The Python client as one file: its modules one after another, with their imports on top."""

import ast
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "client"
PACKAGE = "query.client"
MODULES = (
    "errors",
    "filters",
    "metric_terms",
    "rows",
    "connection",
    "requests",
    "queries",
    "items",
    "records",
    "client",
)
"""Each after those that it imports."""


@cache
def client_file() -> str:
    """The source of the client; it imports nothing but the standard library."""
    trees = {name: _parse(name) for name in MODULES}
    parts = [f"# {_title(tree)}\n\n\n{_code(name, tree)}" for name, tree in trees.items()]
    head = f'"""{ast.get_docstring(_parse("__init__"), clean=False)}"""'
    return "\n\n".join((head, _imports(trees.values()), *parts))


def _parse(name: str) -> ast.Module:
    return ast.parse((FOLDER / f"{name}.py").read_text())


def _title(tree: ast.Module) -> str:
    return (ast.get_docstring(tree) or "").partition("\n")[0]


def _code(name: str, tree: ast.Module) -> str:
    """The text after docstring and imports."""
    source = (FOLDER / f"{name}.py").read_text()
    first = next(
        node for node in tree.body[1:] if not isinstance(node, ast.Import | ast.ImportFrom)
    )
    decorators = getattr(first, "decorator_list", [])
    line = decorators[0].lineno if decorators else first.lineno
    return "".join(source.splitlines(keepends=True)[line - 1 :])


def _imports(trees: Iterable[ast.Module]) -> str:
    """The imports of all modules, without those of each other."""
    plain: set[str] = set()
    by_module: defaultdict[str | None, set[str]] = defaultdict(set)
    for node in (node for tree in trees for node in tree.body):
        if isinstance(node, ast.Import):
            plain |= {f"import {alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not str(node.module).startswith(PACKAGE):
            by_module[node.module] |= {alias.name for alias in node.names}
    named = [f"from {m} import {', '.join(sorted(names))}" for m, names in by_module.items()]
    return "\n".join((*sorted(plain), *sorted(named)))
