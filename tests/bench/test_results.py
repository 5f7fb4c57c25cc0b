"""How figures stand in the file of results."""

from pathlib import Path

import pytest

from tests.bench import results
from tests.bench.results import SideBySide, save

TABLE = SideBySide("Two", "How.", ["ours"], [("summary", [1.25])])


def test_a_table_has_a_column_for_each_system() -> None:
    table = SideBySide(
        "Two",
        "How.",
        ["ours", "theirs"],
        [("summary", [1.25, 1234.4]), ("entry_pages", [None, 99.996])],
    )

    assert table.text() == (
        "## Two\n"
        "\n"
        "How.\n"
        "\n"
        "| figure | ours | theirs |\n"
        "|---|---:|---:|\n"
        "| summary | 1.25 | 1,234 |\n"
        "| entry_pages | – | 100.00 |\n"
    )


def test_a_section_says_when_it_was_measured_and_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path / "RESULTS.md")
    save([SideBySide("One", "How.", ["ours"], [("pages", [2])]), TABLE])
    save([TABLE])

    text = results.RESULTS.read_text()

    assert text.startswith("# Results\n\nWritten by")
    first, second = text.split("\n## ")[1:]
    assert first.startswith("One\n\nMeasured 2")
    assert second.startswith("Two\n\nMeasured 2")
    assert second.endswith("\n\nHow.\n\n| figure | ours |\n|---|---:|\n| summary | 1.25 |\n")
    assert text.count("Measured") == 2
