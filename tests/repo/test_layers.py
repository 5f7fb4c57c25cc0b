"""The arrows of the architecture, held by a test."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = {"schemas", "ingest", "stream", "query", "deploy", "tests"}

MAY_IMPORT = {
    "schemas": set(),
    "ingest": {"schemas"},
    "stream": {"schemas"},
    "query": {"schemas"},
    "deploy": {"schemas", "ingest", "stream", "query"},
}

ONLY_IN = {
    "faust": ("stream/app.py", "stream/faust_adapter.py"),
    "aiokafka": (
        "schemas/lake/topic_identity.py",
        "ingest/",
        "stream/",
        "deploy/local/",
        "deploy/cli/",
    ),
    "duckdb": ("query/", "stream/keeping/"),
    "deltalake": ("schemas/lake/delta_table.py", "stream/", "query/"),
    "pyarrow": ("stream/", "query/formats/arrow.py", "query/client.py"),
    "sqlalchemy": ("schemas/registry/",),
    "click": ("deploy/",),
}


def sources(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imported(source: Path) -> set[str]:
    """Top-level packages that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("service", MAY_IMPORT)
def test_a_service_imports_only_the_floor(service: str) -> None:
    for source in sources(service):
        assert imported(source) & OURS <= MAY_IMPORT[service] | {service}, source


@pytest.mark.parametrize("package", ONLY_IN)
def test_a_package_stays_behind_its_seam(package: str) -> None:
    users = {
        str(source.relative_to(ROOT))
        for folder in MAY_IMPORT
        for source in sources(folder)
        if package in imported(source)
    }

    assert all(user.startswith(ONLY_IN[package]) for user in users), users


def test_only_the_mains_read_the_environment() -> None:
    readers = {
        str(source.relative_to(ROOT))
        for folder in ("schemas", "ingest", "stream", "query")
        for source in sources(folder)
        if "environ" in source.read_text()
    }

    assert readers <= {"schemas/runtime/settings.py"}, readers


SLOW_TO_LOAD = {"alembic", "aiokafka", "deltalake", "duckdb", "numpy", "pyarrow", "sqlalchemy"}


@pytest.mark.parametrize("module", ["deploy.cli.up", "stream.storage.log_repair"])
def test_what_every_start_waits_for_loads_little(module: str) -> None:
    asked = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run(
        (sys.executable, "-c", asked), cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()

    assert SLOW_TO_LOAD & set(loaded) == set()
