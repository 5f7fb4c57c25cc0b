"""Fathom: its CSV of events; that of page views has totals (`totals/fathom.py`)."""

from deploy.importer.formats.cell_values import InvalidLine, parse_number, parse_text
from deploy.importer.formats.export_format import Columns, ExportFormat

UNUSED = frozenset(
    ("completions", "value", "hostname", "referrer_hostname", "referrer_pathname", "state")
)


def fathom_columns(line: Columns) -> Columns:
    """Host names are written with their scheme; a line with several completions is a total."""
    count = parse_number(line["completions"])
    if count != 1:
        raise InvalidLine(
            f"the line counts {line['completions']} completions, and is not one event"
        )
    host = _without_scheme(line.get("hostname"))
    referrer = _without_scheme(line.get("referrer_hostname"))
    value = parse_number(line.get("value"))
    return {
        **{name: cell for name, cell in line.items() if name not in UNUSED},
        "host": host,
        "referrer_domain": referrer,
        "referrer_path": line.get("referrer_pathname"),
        "region": line.get("state"),
        "properties": {"value": value} if value else None,
    }


def _without_scheme(host: object) -> str | None:
    text = parse_text(host)
    return text.partition("://")[2] or text if text else None


FORMATS = (
    ExportFormat(
        "Fathom (events)",
        frozenset(("event_name", "completions")),
        fathom_columns,
        note="its events have neither visitor nor visit",
    ),
    ExportFormat(
        "Fathom (page views)",
        frozenset(("pathname", "pageviews", "uniques")),
        refusal="its lines are totals of page views, and not one event each",
    ),
)
