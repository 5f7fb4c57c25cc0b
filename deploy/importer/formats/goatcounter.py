"""GoatCounter: the CSV export of version 2."""

import re

from deploy.importer.formats.cell_values import InvalidLine, parse_boolean
from deploy.importer.formats.export_format import Columns, ExportFormat, screen_size
from deploy.importer.formats.software_names import name_and_version


def goatcounter_columns(line: Columns) -> Columns:
    """A row of the CSV export; the session is the visitor, who has no id beyond it.

    The path is the name of an event, and stands in a column that begins with the version.
    """
    version = next((name for name in line if GOATCOUNTER_PATH.fullmatch(name)), "")
    if not version.startswith("2"):
        raise InvalidLine(f"GoatCounter's export of version 2 can be read, not '{version}'")
    session, path = line["Session"], line[version]
    page = {"event_name": path} if parse_boolean(line["Event"]) else {"path": path}
    host = line["Referrer"] if line["Referrer scheme"] == "h" else None
    width, height, *_ = [*str(line.get("Screen size") or "").split(","), "", ""]
    browser, browser_version = name_and_version(line.get("Browser"))
    os, os_version = name_and_version(line.get("System"))
    country, _, region = (line.get("Location") or "").partition("-")
    return page | {
        "timestamp": line["Date"],
        "title": line.get("Title"),
        "anonymous_id": session,
        "session_id": session,
        "referrer": f"https://{host}" if host else None,
        "utm_source": line["Referrer"] if line["Referrer scheme"] == "c" else None,
        "browser": browser,
        "browser_version": browser_version,
        "os": os,
        "os_version": os_version,
        "screen_resolution": screen_size(width, height),
        "country": country,
        "region": f"{country}-{region}" if region else None,
        "is_bot": line.get("Bot") not in ("", "0", 0, None),
    }


GOATCOUNTER_PATH = re.compile(r"\d+,?Path")


FORMATS = (
    ExportFormat(
        "GoatCounter",
        frozenset(("Event", "Session", "Referrer scheme", "FirstVisit", "Date")),
        goatcounter_columns,
    ),
)
