"""The report as one CSV file: a line for each number."""

import csv
import io
from collections.abc import Iterator

from query.formats.formula_guard import guarded
from query.reports.content import Content
from query.reports.texts import series_title

HEADER = ("section", "name", "measure", "value", "previous")


def report_csv(content: Content) -> bytes:
    """RFC 4180; numbers are exact, and no text is run as a formula."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(HEADER)
    for line in _lines(content):
        writer.writerow(guarded(cell) if isinstance(cell, str) else cell for cell in line)
    return file.getvalue().encode()


def _lines(content: Content) -> Iterator[tuple[object, ...]]:
    period = f"{content.period.first}/{content.period.last}"
    for figure in content.figures:
        yield "Overview", period, figure.label, figure.value, figure.previous
    for point in content.points:
        yield series_title(content), point.label, "Visitors", point.value, point.previous
    for table in content.tables:
        for row in table.rows:
            measures = table.columns[1:] or ("",)
            values = row.values or ("",)
            for i, (measure, value) in enumerate(zip(measures, values, strict=True)):
                yield table.title, row.name, measure, value, None if i else row.previous
