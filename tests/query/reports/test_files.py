"""Chart, PDF and CSV of a report."""

import io
import re

import pytest
from PIL import Image

from query.reports.charts import LINE, PALE, PIXELS, chart_of, compact, scale_of
from query.reports.content import Point, Row, Table
from query.reports.csv import report_csv
from query.reports.pdf import report_pdf
from query.reports.schedule import Schedule
from tests.query.query_service import NOW
from tests.query.reports.report_values import a_content

A4 = b"/MediaBox [0 0 595.28 841.89]"


def colors(chart: bytes) -> set[str]:
    """The colors of an image."""
    image = Image.open(io.BytesIO(chart)).convert("RGB")
    assert image.size == PIXELS
    pixels = image.tobytes()
    return {f"#{pixels[i : i + 3].hex()}" for i in range(0, len(pixels), 3)}


def close_to(color: str, present: set[str]) -> bool:
    """Whether a color is there, but for what a palette rounds."""
    parts = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    return any(
        all(
            abs(int(one[i : i + 2], 16) - part) < 8
            for i, part in zip((1, 3, 5), parts, strict=True)
        )
        for one in present
    )


@pytest.mark.parametrize("schedule", list(Schedule))
def test_a_chart_has_both_periods(schedule: Schedule) -> None:
    present = colors(chart_of(a_content(schedule)))

    assert close_to(LINE, present)
    assert close_to(PALE, present)


def test_a_chart_without_comparison_has_one_line() -> None:
    points = tuple(Point(f"2026-11-{day}", day, None) for day in range(23, 30))

    present = colors(chart_of(a_content(points=points, before=None)))

    assert close_to(LINE, present)


@pytest.mark.parametrize("values", [(), (0,), (0, 0, 0)])
def test_a_chart_of_nothing_is_empty(values: tuple[int, ...]) -> None:
    points = tuple(Point(f"2026-11-{23 + i}", value, 0) for i, value in enumerate(values))

    assert close_to("#ffffff", colors(chart_of(a_content(points=points))))


@pytest.mark.parametrize(
    ("most", "top", "step"),
    [
        (0, 1, 1),
        (3, 3, 1),
        (7, 8, 2),
        (12, 15, 5),
        (99, 100, 25),
        (950, 1000, 250),
        (12_345, 15_000, 5000),
    ],
)
def test_an_axis_has_round_numbers(most: int, top: int, step: int) -> None:
    assert scale_of([0, most]) == (top, step)


def test_numbers_of_an_axis_are_short() -> None:
    assert [compact(number) for number in (0, 950, 12_500, 3_000_000)] == [
        "0",
        "950",
        "12.5k",
        "3M",
    ]


def test_a_pdf_is_one_page() -> None:
    content = a_content()

    pdf = report_pdf(content, chart_of(content), NOW)

    assert pdf.startswith(b"%PDF-")
    assert (pdf.count(A4), len(re.findall(rb"/Type /Page\b", pdf))) == (1, 1)
    assert b"/Lang (en)" in pdf


def test_many_tables_go_on_on_further_pages() -> None:
    tables = tuple(
        Table(f"Table {i}", ("a", "b"), tuple(Row(str(j), (j,)) for j in range(10)))
        for i in range(10)
    )
    content = a_content(tables=tables)

    pdf = report_pdf(content, chart_of(content), NOW)

    assert len(re.findall(rb"/Type /Page\b", pdf)) == 3


def test_a_csv_file_runs_no_formula() -> None:
    table = Table("=1+1", ("Page", "Views"), (Row("=cmd|' /C calc'!A0", (1,), 2), Row("a,b", (2,))))

    lines = report_csv(a_content(tables=(table,))).decode().split("\r\n")

    assert lines[:2] == [
        "section,name,measure,value,previous",
        "Overview,2026-11-23/2026-11-29,Visitors,1234,1000",
    ]
    assert lines[-3:] == ["'=1+1,'=cmd|' /C calc'!A0,Views,1,2", '\'=1+1,"a,b",Views,2,', ""]
