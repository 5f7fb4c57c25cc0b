"""The TypeScript modules of the dashboard import one way: app, views, components, api, state."""

import re
from collections import defaultdict
from graphlib import TopologicalSorter
from os.path import normpath
from pathlib import Path

from tests.repo.source_tree import ROOT

SOURCES = ROOT / "query" / "web" / "src"
IMPORT = re.compile(r'\b(?:from|import)\s*\(?\s*"(\.[^"]+)"')

OF_NO_WEBSITE = (
    "account",
    "invitation",
    "new_password",
    "open_share",
    "reset_password",
    "sign_in",
)
"""Views with an address of their own, which `app/app` loads."""


def import_graph(folder: Path) -> dict[str, set[str]]:
    """The modules that each module imports, also lazily or for types, by path without suffix."""
    names = {
        path.relative_to(folder).with_suffix("").as_posix(): path
        for path in folder.rglob("*.ts*")
        if not path.name.endswith(".d.ts")
    }
    return {
        name: {
            target
            for imported in IMPORT.findall(path.read_text())
            if (target := normpath(Path(name).parent / imported)) in names
        }
        for name, path in names.items()
    }


def node_of(module: str) -> str:
    """The folder of a module; a module at the root is a node of its own."""
    return module.rpartition("/")[0] or module


def test_every_import_is_found() -> None:
    graph = import_graph(SOURCES)

    assert graph["app/load_view"] == {
        "state/views",
        *(f"views/{path.stem}" for path in (SOURCES / "views").iterdir()),
    } - {f"views/{name}" for name in OF_NO_WEBSITE}


def test_no_module_imports_itself_through_others() -> None:
    TopologicalSorter(import_graph(SOURCES)).prepare()  # CycleError names the circle


def test_no_two_folders_import_each_other() -> None:
    imports = defaultdict(set)
    for module, targets in import_graph(SOURCES).items():
        for target in targets:
            if node_of(module) != node_of(target):
                imports[node_of(module), node_of(target)].add(f"{module} imports {target}")

    both_ways = {pair for pair in imports if pair < pair[::-1] and pair[::-1] in imports}
    assert {pair: imports[pair] | imports[pair[::-1]] for pair in both_ways} == {}
