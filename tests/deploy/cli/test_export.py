"""`tidemark export`: in which format a file is written."""

from pathlib import Path

import pytest

from deploy.cli.export import format_of


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (None, "ndjson"),
        ("events", "ndjson"),
        ("events.json", "ndjson"),
        ("events.ndjson", "ndjson"),
        ("events.csv", "csv"),
        ("a/events.2026.PARQUET", "parquet"),
    ],
)
def test_the_ending_of_the_file_names_the_format(output: str | None, expected: str) -> None:
    assert format_of(Path(output) if output else None) == expected
