"""XLSX: cells of the types of their columns, no formula whatever the text is, limits by name."""

import io
import tempfile
import tracemalloc
import zipfile
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from query.formats import xlsx
from query.formats.columns import ColumnKind, ResultColumn
from query.formats.xlsx import CUT, MAX_TEXT_LENGTH, XlsxWriter
from schemas.errors import ResultTooLarge
from tests.query.lake import a_view, an_event
from tests.query.query_service import NOVEMBER, InProcessService, start_service

COLUMNS = [
    ResultColumn("text", ColumnKind.TEXT),
    ResultColumn("count", ColumnKind.INTEGER),
    ResultColumn("share", ColumnKind.NUMBER),
    ResultColumn("at", ColumnKind.INSTANT),
    ResultColumn("date", ColumnKind.DATE),
    ResultColumn("flag", ColumnKind.BOOLEAN),
    ResultColumn("list", ColumnKind.NESTED),
]
RICH = '<r><t>a</t></r></is></c><c r="B2"><f>HYPERLINK("//x")</f></c><c><is><r></r>'
"""Text that the package would take for XML of its own."""


def at(*parts: int) -> datetime:
    """A local time, as openpyxl reads it."""
    return datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001


def written(*rows: list[Any]) -> list[tuple[Any, ...]]:
    """The cells below the header, as another program reads them."""
    with closing(XlsxWriter(COLUMNS)) as writer:
        pieces = [writer.start(), *(writer.rows([row]) for row in rows), *writer.end()]
    header, *cells = load_workbook(io.BytesIO(b"".join(pieces))).active.iter_rows()
    assert [cell.value for cell in header] == [column.name for column in COLUMNS]
    assert not [cell for row in cells for cell in row if cell.data_type == "f"]
    return [tuple(cell.value for cell in row) for row in cells]


def texts(*values: str) -> list[Any]:
    return [row[0] for row in written(*([value] + [None] * 6 for value in values))]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, empty."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_each_kind_has_its_type_of_cell() -> None:
    row = ["ü", 12, -0.5, 1_795_000_000_125, "2026-11-05", True, [1, "a"]]
    hour = [None, 0, 2.0, 0, "2026-11-05 13:00:00", False, {"a": None}]

    assert written(row, hour) == [
        (
            "ü",
            12,
            -0.5,
            at(2026, 11, 18, 11, 6, 40, 125_000),
            at(2026, 11, 5),
            True,
            '[1,"a"]',
        ),
        (None, 0, 2, at(1970, 1, 1), at(2026, 11, 5, 13), False, '{"a":null}'),
    ]


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "@SUM(A1)", "{=1}", "https://x.example", "12", RICH]
)
def test_text_stays_text(text: str) -> None:
    assert texts(text) == [text]


def test_text_keeps_every_character() -> None:
    values = (
        " a  b ",
        "line\nbreak",
        "tab\t",
        "<b>&amp;</b>",
        "_x0041_",
        "cr\rlf",
        "\x00\x1f",
        "😀",
    )

    assert tuple(map(openpyxl_text, texts(*values))) == values


def openpyxl_text(value: str) -> str:
    """The text of a cell, whose escaped characters openpyxl leaves as they are."""
    from openpyxl.utils.escape import unescape

    return str(unescape(value))


def test_numbers_that_a_spreadsheet_would_change_are_text() -> None:
    [row] = written([None, 2**62, float("inf"), None, "week 3", None, None])

    assert row == (None, str(2**62), "inf", None, "week 3", None, None)


def test_more_rows_than_a_worksheet_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "MAX_ROWS", 2)

    assert len(written([None] * 7)) == 1
    with pytest.raises(ResultTooLarge, match=r"more than 1 rows.*xlsx worksheet.*use csv"):
        written([None] * 7, [None] * 7)


def test_texts_beyond_a_cell_are_cut_and_larger_worksheets_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    longest = "x" * MAX_TEXT_LENGTH

    assert texts(longest) == [longest]
    assert texts(longest + "x") == [longest[: -len(CUT)] + CUT]
    [faces] = texts("😀" * (MAX_TEXT_LENGTH // 2 + 1))
    assert faces == "😀" * ((MAX_TEXT_LENGTH - len(CUT)) // 2) + CUT
    monkeypatch.setattr(xlsx, "MAX_SHEET_BYTES", 2_000)
    with pytest.raises(ResultTooLarge, match="larger than an xlsx worksheet may be"):
        texts("x" * 2_000, "")


def test_a_worksheet_beyond_a_zip_file_is_refused(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 10_000)

    with pytest.raises(ResultTooLarge, match="larger than an xlsx worksheet may be"):
        texts("x" * 10_000)

    assert list(temporary.iterdir()) == []


def test_a_writer_leaves_no_file_behind(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(XlsxWriter(COLUMNS)) as left:
        left.start()
        left.rows([[None] * 7] * 2)
        assert len(list(temporary.iterdir())) == 1
    remaining = [list(temporary.iterdir())]
    with closing(XlsxWriter(COLUMNS)) as partly_read:
        partly_read.start()
        next(partly_read.end())
    remaining.append(list(temporary.iterdir()))
    monkeypatch.setattr(xlsx, "MAX_ROWS", 1)
    with pytest.raises(ResultTooLarge):
        texts("x")
    remaining.append(list(temporary.iterdir()))

    assert remaining == [[], [], []]


def test_memory_does_not_grow_with_the_rows() -> None:
    with closing(XlsxWriter(COLUMNS)) as writer:
        writer.start()
        batch = [["x" * 1_000] + [None] * 6] * 1_000
        writer.rows(batch)
        tracemalloc.start()
        try:
            for _ in range(10):
                writer.rows(batch)
            assert tracemalloc.get_traced_memory()[1] < 2**20
        finally:
            tracemalloc.stop()


def test_buckets_are_dates_in_every_kind_of_query(service: InProcessService) -> None:
    service.holds(a_view("/a"))
    custom = {
        "table": "events",
        "selects": [{"field": "*", "aggregate": "count", "alias": "n"}],
        "groupBy": ["time:daily"],
    }
    metrics = {"metrics": ["events"], "dimensions": ["time:day"], **NOVEMBER}
    place = {"website_id": "shop", "format": "xlsx"}

    bodies = [
        service.ask("POST", "/v1/query/custom", {"query": custom, **NOVEMBER}, **place).body,
        service.ask("POST", "/v1/query/metrics", metrics, **place).body,
        service.ask(
            "POST", "/v1/query", {"parameters": ["events_by_date"], **NOVEMBER}, **place
        ).body,
    ]

    for body in bodies:
        first = [row[0] for row in load_workbook(io.BytesIO(body)).active.iter_rows(min_row=2)]
        assert {cell.value for cell in first} >= {at(2026, 11, 10)}
        assert {cell.number_format for cell in first} == {"yyyy\\-mm\\-dd"}


def test_an_export_beyond_a_worksheet_is_an_error_and_no_broken_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = start_service(tmp_path)
    service.holds(an_event("a"), an_event("b"), an_event("=c"))
    place = {"website_id": "shop", "format": "xlsx", "columns": "name,ts", **NOVEMBER}

    whole = service.ask("GET", "/v1/export/events", **place)
    monkeypatch.setattr(xlsx, "MAX_ROWS", 3)
    refused = service.ask("GET", "/v1/export/events", **place)

    rows = list(load_workbook(io.BytesIO(whole.body)).active.iter_rows(values_only=True))
    assert {row[0] for row in rows[1:]} == {"a", "b", "=c"}
    assert {row[1] for row in rows[1:]} == {at(2026, 11, 10, 12)}
    assert whole.headers["content-disposition"] == 'attachment; filename="events.xlsx"'
    assert (refused.status, refused.json["code"]) == (400, "RESULT_TOO_LARGE")
