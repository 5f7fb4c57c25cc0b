"""How figures stand in the file of results."""

from tests.bench.results import SideBySide


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
