"""Results of tools within their limit."""

import json

from deploy.mcp_server.result_text import TextLimit, entries_text, rows_text

ROWS = [{"name": "/a"}, {"name": "/b"}, {"name": "/c"}]


def test_rows_that_fit_have_no_note() -> None:
    meta = {"totalRows": 3, "timezone": "UTC", "watermark": None, "versions": {"events": 1}}

    assert json.loads(rows_text(ROWS, meta, TextLimit(3, 100))) == {
        "rows": ROWS,
        "total_rows": 3,
        "timezone": "UTC",
    }


def test_rows_are_cut_by_number() -> None:
    result = json.loads(rows_text(ROWS, {"totalRows": 1_234}, TextLimit(2, 100)))

    assert result["rows"] == ROWS[:2]
    assert result["note"].startswith("2 of 1,234 rows are shown.")


def test_rows_are_cut_by_bytes() -> None:
    """Each row has 13 bytes and a comma."""
    assert json.loads(rows_text(ROWS, {}, TextLimit(3, 28)))["rows"] == ROWS[:2]
    assert json.loads(rows_text(ROWS, {}, TextLimit(3, 27)))["rows"] == ROWS[:1]


def test_one_row_that_is_too_large_is_no_row() -> None:
    result = json.loads(rows_text([{"name": "a" * 100}], {}, TextLimit(9, 50)))

    assert (result["rows"], result["total_rows"]) == ([], 1)
    assert result["note"].startswith("0 of 1 rows are shown.")


def test_entries_of_the_catalogue_are_cut_by_bytes_only() -> None:
    assert json.loads(entries_text("types", ROWS, TextLimit(1, 100), more=1)) == {
        "types": ROWS,
        "more": 1,
    }
    cut = json.loads(entries_text("types", ROWS, TextLimit(1, 20)))
    assert cut["note"] == "1 of 3 entries are shown; ask for one by name."
