"""The report as a PDF file of A4 pages: figures, the chart, and tables in two columns.

Characters that the font does not have are shown as frames; see `fonts.py`.
"""

import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from query.reports.charts import HEIGHT, WIDTH
from query.reports.content import Content, Figure, Row, Table
from query.reports.fonts import BOLD, REGULAR, font_file
from query.reports.mail import BETTER, FILTERED, WORSE
from query.reports.texts import (
    Change,
    alt_text,
    change_of_figure,
    change_of_row,
    has_changes,
    period_text,
    series_title,
    shown_name,
    shown_value,
)
from schemas.mail.layout import BRAND, INK, LINE, MUTED, PRODUCT

if TYPE_CHECKING:
    from fpdf import FPDF

FAMILY = "FiraGO"
MISSING = "▯"
MARGIN, GAP = 16.0, 10.0
PAGE_WIDTH, PAGE_HEIGHT = 210.0, 297.0
"""In millimeters."""
COLUMN_WIDTH = (PAGE_WIDTH - 2 * MARGIN - GAP) / 2
BOTTOM = PAGE_HEIGHT - MARGIN - 6
ROW_HEIGHT, TITLE_HEIGHT = 6.0, 9.0
VALUE_WIDTH, CHANGE_WIDTH = 16.0, 14.0


def report_pdf(content: Content, chart: bytes, made_ms: int) -> bytes:
    """The file, which shows the same chart as the mail."""
    pdf = _new_pdf(content, made_ms)
    _head(pdf, content)
    _figures(pdf, content.figures)
    _text(pdf, MARGIN, 6, series_title(content), 12, BOLD)
    pdf.set_y(pdf.get_y() + 8)
    width = PAGE_WIDTH - 2 * MARGIN
    height = width * HEIGHT / WIDTH * 0.9
    pdf.image(
        chart,
        MARGIN + width * 0.05,
        pdf.get_y(),
        width * 0.9,
        height,
        alt_text=alt_text(content),
    )
    pdf.set_y(pdf.get_y() + height + 6)
    _tables(pdf, content.tables)
    return bytes(pdf.output())


def _new_pdf(content: Content, made_ms: int) -> "FPDF":
    from fpdf import FPDF

    class Report(FPDF):
        """Its pages have a foot."""

        def footer(self) -> None:
            self.set_y(PAGE_HEIGHT - MARGIN)
            foot = f"{PRODUCT} · {_shown(self, content.website)} · {period_text(content.period)}"
            _text(self, MARGIN, 4, foot, 8, color=MUTED)
            page = f"{self.page_no()}"
            _text(self, MARGIN, 4, page, 8, color=MUTED, align="R")

    pdf = Report(format="A4")
    pdf.set_auto_page_break(False)
    pdf.set_margin(MARGIN)
    pdf.c_margin = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, style in ((REGULAR, ""), (BOLD, "B")):
            path = Path(folder) / f"{name}.ttf"
            path.write_bytes(font_file(name))
            pdf.add_font(FAMILY, style, path)
    pdf.set_title(shown_name(content.name))
    pdf.set_lang("en")
    pdf.set_creator(PRODUCT)
    pdf.set_creation_date(datetime.fromtimestamp(made_ms / 1000, UTC))
    pdf.add_page()
    return pdf


def _head(pdf: "FPDF", content: Content) -> None:
    _text(pdf, MARGIN, 5, PRODUCT, 9, BOLD, color=BRAND, align="R")
    _text(pdf, MARGIN, 5, content.website, 10, color=MUTED)
    pdf.set_y(pdf.get_y() + 6)
    _text(pdf, MARGIN, 8, content.name, 18, BOLD)
    pdf.set_y(pdf.get_y() + 9)
    filtered = f" · {FILTERED}" if content.is_filtered else ""
    _text(
        pdf, MARGIN, 5, f"{period_text(content.period)}, {content.zone}{filtered}", 10, color=MUTED
    )
    pdf.set_y(pdf.get_y() + 10)


def _figures(pdf: "FPDF", figures: Sequence[Figure]) -> None:
    width, y = (PAGE_WIDTH - 2 * MARGIN) / len(figures), pdf.get_y()
    for i, figure in enumerate(figures):
        x, change = MARGIN + i * width, change_of_figure(figure)
        in_box = partial(_text, pdf, x, width=width)
        pdf.set_y(y)
        in_box(height=5, text=figure.label, size=9, color=MUTED)
        pdf.set_y(y + 5)
        in_box(height=8, text=shown_value(figure.value, figure.unit), size=16, font=BOLD)
        if change:
            pdf.set_y(y + 13)
            in_box(height=5, text=change.text, size=9, color=_color(change))
    pdf.set_y(y + 24)


def _tables(pdf: "FPDF", tables: Sequence[Table]) -> None:
    """Each below the shorter column, in order; on a new page where neither has room."""
    ends = [pdf.get_y(), pdf.get_y()]
    for table in tables:
        height = TITLE_HEIGHT + ROW_HEIGHT * (1 + len(table.rows)) + 5
        at = ends.index(min(ends))
        if ends[at] + height > BOTTOM:
            pdf.add_page()
            ends, at = [MARGIN, MARGIN], 0
        pdf.set_y(ends[at])
        _table(pdf, MARGIN + at * (COLUMN_WIDTH + GAP), table)
        ends[at] += height


def _table(pdf: "FPDF", x: float, table: Table) -> None:
    _text(pdf, x, 6, table.title, 11, BOLD, width=COLUMN_WIDTH)
    pdf.set_y(pdf.get_y() + TITLE_HEIGHT - 2)
    if table.problem:
        _text(pdf, x, 5, table.problem, 9, color=MUTED, width=COLUMN_WIDTH)
        return
    compared = has_changes(table)
    names = [*table.columns]
    if compared:
        names.insert(2, "")
    _row(pdf, x, names, [MUTED] * len(names), compared, size=8)
    for row in table.rows:
        pdf.set_draw_color(LINE)
        pdf.line(x, pdf.get_y(), x + COLUMN_WIDTH, pdf.get_y())
        _row(pdf, x, *_cells(row, table, compared), compared)


def _cells(row: Row, table: Table, compared: bool) -> tuple[list[str], list[str]]:
    """The texts of a row and their colors."""
    cells = [row.name]
    cells += [
        shown_value(value, table.units[i] if i < len(table.units) else None)
        for i, value in enumerate(row.values)
    ]
    colors = [INK] * len(cells)
    if compared:
        change = change_of_row(row)
        cells.insert(2, change.text if change else "")
        colors.insert(2, _color(change) if change else INK)
    return cells, colors


def _row(
    pdf: "FPDF",
    x: float,
    cells: Sequence[str],
    colors: Sequence[str],
    compared: bool,
    size: int = 9,
) -> None:
    """One line: the first cell has what the others leave."""
    widths = [CHANGE_WIDTH if compared and i == 2 else VALUE_WIDTH for i in range(len(cells))]
    widths[0] = COLUMN_WIDTH - sum(widths[1:])
    for i, (cell, color, width) in enumerate(zip(cells, colors, widths, strict=True)):
        _text(pdf, x, ROW_HEIGHT, cell, size, color=color, width=width, align="R" if i else "L")
        x += width
    pdf.set_y(pdf.get_y() + ROW_HEIGHT)


def _text(
    pdf: "FPDF",
    x: float,
    height: float,
    text: str,
    size: int,
    font: str = REGULAR,
    *,
    color: str = INK,
    width: float = 0,
    align: str = "L",
) -> None:
    """Text on one line, cut to its width; the position stays above it."""
    y, room = pdf.get_y(), width or PAGE_WIDTH - 2 * MARGIN
    pdf.set_font(FAMILY, "B" if font == BOLD else "", size)
    pdf.set_text_color(color)
    line = _shown(pdf, text)
    if pdf.get_string_width(line) > room - 1:
        while line and pdf.get_string_width(f"{line}…") > room - 1:
            line = line[:-1]
        line = f"{line}…"
    pdf.set_x(x)
    pdf.cell(room, height, line, align=align)
    pdf.set_y(y)


def _shown(pdf: "FPDF", text: str) -> str:
    """The text as the font can show it."""
    font: Any = pdf.fonts[FAMILY.lower()]  # of a TrueType file, as it was added
    return "".join(char if ord(char) in font.cmap else MISSING for char in shown_name(text))


def _color(change: Change) -> str:
    return {None: MUTED, True: BETTER, False: WORSE}[change.is_better]
