"""The Python client as one file."""

import ast
import subprocess
import sys
from pathlib import Path

import query.client
from query.docs.client_file import FOLDER, MODULES, client_file
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
