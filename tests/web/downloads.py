"""What the dashboard offers as a file."""

import csv
import io
import re

from tests.flow.tenant import DAY
from tests.web.dashboard import Dashboard

KEEP_FILE = """window.makeUrl ??= URL.createObjectURL;
URL.createObjectURL = (blob) => makeUrl.call(URL, window.file = blob);
HTMLAnchorElement.prototype.click = function () {
  if (this.download) window.fileName = this.download;
};"""
"""What the page offers as a file stays in `window.file`, with its name in `window.fileName`."""


def file_name(dashboard: Dashboard, what: str, extension: str) -> str:
    """The name of a file of the tests' day."""
    website = re.sub(r"[^a-z0-9]+", "-", dashboard.tenant.website.name.lower()).strip("-")
    return f"{website}-{what}-{DAY}.{extension}"


def downloaded(dashboard: Dashboard, title: str, scope: str = "main") -> list[dict[str, str]]:
    """The rows of the CSV file of a card, by the headers of their columns."""
    dashboard.tab.js(KEEP_FILE)
    dashboard.tab.js("window.file = null")
    item = f"Download CSV: {title}"
    if scope == "main":
        dashboard.press_in_menu(title, item)
    else:
        dashboard.press(item, scope)
    dashboard.until("!!window.file")
    text = dashboard.tab.js("window.file.text()")
    return list(csv.DictReader(io.StringIO(text, newline="")))
