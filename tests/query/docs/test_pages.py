"""The API page lists the query types, and the client is one file."""

import ast
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import query.client
from query.docs.pages import FOLDER, MODULES, client_file, type_list
from query.standard.query_types import FAMILIES, QUERY_TYPES
from query.standard.type_catalogue import type_config
from tests.query.query_service import start_service


def test_it_has_every_module() -> None:
    names = {path.stem for path in FOLDER.glob("*.py")} - {"__init__"}

    assert names == set(MODULES)


def test_it_imports_the_standard_library_only() -> None:
    imported = [
        n for n in ast.parse(client_file()).body if isinstance(n, ast.Import | ast.ImportFrom)
    ]

    names = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name) or ""
        for node in imported
    }
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


def test_no_two_modules_define_one_name() -> None:
    defined = [
        target
        for node in ast.parse(client_file()).body
        for target in names_of(node)
        if target != "T"
    ]

    assert sorted(defined) == sorted(set(defined))


def names_of(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def test_it_runs_alone_with_the_names_of_the_package(tmp_path: Path) -> None:
    (tmp_path / "tidemark_client.py").write_text(client_file())
    names = [name for name in query.client.__all__ if name != "__all__"]
    program = (
        "import sys; sys.path.insert(0, '.'); import tidemark_client as c; "
        f"print(all(hasattr(c, name) for name in {names}), c.parse_filter('a = 1')['value'])"
    )

    done = subprocess.run(
        (sys.executable, "-I", "-c", program), cwd=tmp_path, capture_output=True, text=True
    )

    assert (done.stdout, done.stderr) == ("True 1\n", "")


def test_a_running_service_has_it(tmp_path: Path) -> None:
    service = start_service(tmp_path)

    reply = service.ask("GET", "/docs/tidemark_client.py", key=None)

    assert (reply.status, reply.body.decode()) == (200, client_file())
    assert reply.headers["content-type"].startswith("text/x-python")
    service.close()


TYPES = {query_type.name: query_type for family in FAMILIES for query_type in family}
ENTRIES = dict(
    re.findall(
        r'<details class="query-type"><summary><h3>(\w+).*?</h3>(.*?)</details>', type_list()
    )
)


def test_every_query_type_is_listed_with_all_of_its_names() -> None:
    titles = re.findall(r"<h3>(.*?)</h3>", type_list())

    assert {name for title in titles for name in title.split(" or ")} == set(QUERY_TYPES)
    assert ENTRIES.keys() == TYPES.keys()


def test_an_entry_has_description_and_fields_of_the_catalogue(subtests: pytest.Subtests) -> None:
    for name, query_type in TYPES.items():
        with subtests.test(name):
            config = type_config(query_type)
            entry = unescape(ENTRIES[name])

            assert f"<span>{config['description']}</span>" in entry
            columns: Any = config["columns"]
            assert re.findall(r'<th scope="row">(.*?)</th>', entry) == [c["name"] for c in columns]


def test_options_granularity_and_limits_are_named() -> None:
    assert (
        "Options: steps, window, by, order, exclusions, breakdown, breakdown_limit<"
        in ENTRIES["funnel"]
    )
    assert "Rows: 1000 by default, at most 10000<" in ENTRIES["funnel"]
    assert "Granularity: " in ENTRIES["events_by_date"]
