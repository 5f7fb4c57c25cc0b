"""The roots of the packages and of the repository hold entry points only."""

import pytest

from tests.repo.source_tree import PACKAGES, ROOT, sources

ROOT_MODULES: dict[str, set[str]] = {
    "schemas": {
        "acknowledged_counts",
        "envelope",
        "errors",
        "event_contract",
        "event_times",
        "items",
        "kinds",
        "plans",
        "receipts",
        "spool_deliveries",
    },
    "ingest": {"__main__", "app", "dependencies"},
    "stream": {"__main__", "app", "backfill_standby", "faust_adapter", "worker"},
    "query": {"__main__", "app", "dependencies"},
    "deploy": set(),
}
"""What stands at the root of each package; everything else lies in a folder for its stage."""
ROOT_FILES = {"CHANGELOG.md", "LICENSE", "Makefile", "README.md", "pyproject.toml"}


@pytest.mark.parametrize("package", PACKAGES)
def test_the_root_of_a_package_holds_entry_points_only(package: str) -> None:
    names = {source.stem for source in sources(package) if source.parent == ROOT / package}

    assert names - {"__init__"} == ROOT_MODULES[package]


def test_nothing_else_lies_at_the_top() -> None:
    files = {path.name for path in ROOT.iterdir() if path.is_file()}
    assert {name for name in files if not name.startswith(".")} == ROOT_FILES
