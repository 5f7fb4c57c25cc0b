"""Matomo: reports as CSV by day (`period=day&date=FROM,TO`), which begin with the day.

What the lines of a report are split by is in their column `metadata_segment`.
"""

from typing import Any
from urllib.parse import unquote

from deploy.importer.formats.cell_values import InvalidLine, parse_text
from deploy.importer.formats.export_format import Columns
from deploy.importer.totals import totals_format as common
from deploy.importer.totals.totals_format import Split, TotalsFormat, parse_day

SEGMENTS = {
    "pageUrl": common.PATH,
    "countryCode": common.COUNTRY,
    "city": common.CITY,
    "deviceType": common.DEVICE,
    "browserCode": common.BROWSER,
    "operatingSystemCode": common.SYSTEM,
    "referrerName": common.SOURCE,
    "languageCode": common.LANGUAGE,
    "eventAction": common.EVENT_NAME,
}
"""Name of a segment → what the report is split by."""
CODES = frozenset(("pageUrl", "countryCode", "languageCode"))
"""Segments whose value is used; of others it is the label."""


def report_columns(line: Columns) -> Columns:
    """The label as a column that says what it is."""
    counts = {name: cell for name, cell in line.items() if not name.startswith("metadata_")}
    label = counts.pop("label", None)
    counts.pop("idsubdatatable", None)
    if label is None:
        return counts
    segment, _, value = str(line.get("metadata_segment") or "").partition("==")
    if segment not in SEGMENTS:
        raise InvalidLine(
            f"the line of '{str(label)[:40]}' does not say in 'metadata_segment' what it is split "
            f"by; known are {', '.join(SEGMENTS)}"
        )
    return {**counts, f"of {segment}": _decoded(value) if segment in CODES else parse_text(label)}


def _decoded(value: Any) -> str:
    """Segments are escaped twice."""
    return unquote(unquote(value))


FORMAT = TotalsFormat(
    "Matomo",
    (
        frozenset(("nb_visits",)),
        frozenset(("nb_uniq_visitors",)),
        frozenset(("nb_hits",)),
        frozenset(("unique_visitors", "visits")),
    ),
    {"date": parse_day},
    {
        "visitors": ("nb_uniq_visitors", "unique_visitors"),
        "visits": ("nb_visits", "visits"),
        "page_views": ("nb_pageviews", "nb_hits", "pageviews"),
        "bounces": ("bounce_count", "bounces"),
        "visit_seconds": ("sum_visit_length",),
        "events": ("nb_events",),
    },
    {f"of {name}": (Split(split.dimension, split.parse),) for name, split in SEGMENTS.items()},
    report_columns,
)
