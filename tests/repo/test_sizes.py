"""Modules and READMEs stay short enough to be read in one go; roots hold entry points only."""

import pytest

from tests.repo.source_tree import PACKAGES, ROOT, relative, sources

MODULE_LINES = 300
README_BYTES = 12_500

ROOT_MODULES: dict[str, set[str]] = {
    "schemas": {
        "acknowledged_counts",
        "envelope",
        "errors",
        "event_times",
        "items",
        "kinds",
        "plans",
        "receipts",
    },
    "ingest": {"__main__", "app", "dependencies"},
    "stream": {"__main__", "app", "backfill_standby", "faust_adapter", "worker"},
    "query": {"__main__", "app", "dependencies"},
    "deploy": set(),
}
"""What stands at the root of each package; everything else lies in a folder for its stage."""
ROOT_FILES = {"CHANGELOG.md", "LICENSE", "Makefile", "README.md", "pyproject.toml"}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_is_longer_than_a_reader_can_hold(package: str) -> None:
    lengths = {relative(source): source.read_text().count("\n") for source in sources(package)}

    assert {path: lines for path, lines in lengths.items() if lines > MODULE_LINES} == {}


@pytest.mark.parametrize("folder", [".", *PACKAGES, "tests"])
def test_a_readme_is_a_front_door(folder: str) -> None:
    """Generated tables stand in REFERENCE.md beside it, decisions in DECISIONS.md."""
    assert (ROOT / folder / "README.md").stat().st_size <= README_BYTES


@pytest.mark.parametrize("package", PACKAGES)
def test_the_root_of_a_package_holds_entry_points_only(package: str) -> None:
    names = {source.stem for source in sources(package) if source.parent == ROOT / package}

    assert names - {"__init__"} == ROOT_MODULES[package]


def test_nothing_else_lies_at_the_top() -> None:
    files = {path.name for path in ROOT.iterdir() if path.is_file()}
    assert {name for name in files if not name.startswith(".")} == ROOT_FILES
