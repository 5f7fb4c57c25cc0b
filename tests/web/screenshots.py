"""Takes the screenshots of the documentation from a running demo.

    python -m tests.web.screenshots http://127.0.0.1:4001 .tidemark/demo.header

Each is named by view, width and theme. They are of days that are over, so that nothing moves.
"""

import argparse
import base64
import json
import tempfile
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from msgspec import Struct

from tests.browser.chromium import Chromium
from tests.browser.tab import Tab
from tests.http_client import call
from tests.installation import ROOT, eventually

FOLDER = ROOT / "query/web/screenshots"
SECONDS = 60.0
QUALITY = 82
READY = """document.querySelector("main h1")
  && !document.querySelector("main .skeleton, main [aria-busy=true]")"""
SIGN_IN = """fetch("/v1/sign-in", {
  method: "POST", body: JSON.stringify({ key: %s }),
  headers: { "Content-Type": "application/json", "X-Tidemark-Request": "1" },
}).then((response) => response.status)"""


class Screenshot(Struct, frozen=True):
    """One view at one width."""

    view: str
    width: int
    height: int
    theme: str = "light"
    query: str = ""

    @property
    def path(self) -> Path:
        """Where it is kept."""
        return FOLDER / f"{self.view}-{self.width}-{self.theme}.webp"


SCREENSHOTS = (
    Screenshot("overview", 1440, 1000),
    Screenshot("overview", 768, 1000, "dark"),
    Screenshot("overview", 360, 760),
    Screenshot("explore", 1440, 900, "dark"),
    Screenshot("visitors", 768, 700),
    Screenshot("vitals", 360, 760, "dark"),
)
MAIL = Screenshot("report-mail", 660, 1060)


def take(tab: Tab, url: str, shot: Screenshot, days: str) -> None:
    """Open the view and store what is seen without scrolling."""
    tab.set_size(shot.width, shot.height)
    scheme = {"name": "prefers-color-scheme", "value": shot.theme}
    tab.tell("Emulation.setEmulatedMedia", features=[scheme])
    tab.go(f"{url}/?period={days}")
    eventually(lambda: tab.js("location.pathname.endsWith('/overview')"), SECONDS)
    website = tab.js("location.pathname.split('/')[1]")
    tab.go(f"{url}/{website}/{shot.view}?period={days}{shot.query}")
    eventually(lambda: tab.js(READY), SECONDS)
    image = tab.tell("Page.captureScreenshot", format="webp", quality=QUALITY)
    shot.path.write_bytes(base64.b64decode(image["data"]))
    print(shot.path.relative_to(ROOT))


def take_mail(tab: Tab, url: str, key: str, folder: Path) -> None:
    """Make a weekly report, store its mail as a picture, and delete the report."""
    headers = {"x-api-key": key}
    websites = call("GET", f"{url}/v1/websites", None, headers).json["data"]
    body = {"name": "Weekly numbers"}
    report = call("POST", f"{url}/v1/reports?website_id={websites[0]['id']}", body, headers)
    one = f"{url}/v1/reports/{report.json['data']['id']}"
    page = folder / "mail.html"
    page.write_bytes(call("GET", f"{one}/preview", None, headers).body)
    call("DELETE", one, None, headers)
    tab.set_size(MAIL.width, MAIL.height, mobile=True)
    tab.go(page.as_uri())
    image = tab.tell("Page.captureScreenshot", format="webp", quality=QUALITY)
    MAIL.path.write_bytes(base64.b64decode(image["data"]))
    print(MAIL.path.relative_to(ROOT))


def main() -> None:
    """Take all of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.web.screenshots", description=__doc__)
    parser.add_argument("url", help="address of the query service")
    parser.add_argument("header", type=Path, help="file with the header of an API key")
    options = parser.parse_args()
    key = options.header.read_text().split()[-1]
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as profile, Chromium(Path(profile)) as chromium:
        tab = Tab.opened(chromium)
        tab.go(f"{options.url}/docs")
        status = tab.js(SIGN_IN % json.dumps(key))
        assert status == 200, status
        days = last_days(datetime.now(UTC).date())
        for shot in SCREENSHOTS:
            take(tab, options.url, shot, days)
        tab.tell("Emulation.setEmulatedMedia", features=[])
        take_mail(tab, options.url, key, Path(profile))


def last_days(today: date) -> str:
    """The last seven days that are over."""
    return f"{today - timedelta(days=7)}..{today - timedelta(days=1)}"


if __name__ == "__main__":
    main()
