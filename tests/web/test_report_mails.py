"""Mails of reports in a real browser, and the page behind their last link."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from query.notify.unsubscribe import unsubscribe_url
from query.reports.charts import chart_of
from query.reports.mail import Links, report_html
from query.sign_in.sign_ins import SignIns
from schemas.registry import RegistryStore, Report
from schemas.runtime.clock import now_ms
from tests.browser.chromium import Chromium
from tests.browser.tab import Tab
from tests.flow.tenant import Tenant
from tests.installation import eventually
from tests.query.reports.report_values import a_content

DASHBOARD = "https://stats.example/shop/overview"
WIDTHS = """(() => {
  const card = document.querySelector("h1").closest("td").getBoundingClientRect();
  const image = document.querySelector("img");
  const page = document.documentElement;
  return [page.scrollWidth > page.clientWidth, card.width, image.naturalWidth > 0,
    image.getBoundingClientRect().right <= card.right];
})()"""
HEADING = "document.querySelector('h1')?.innerText"


@pytest.fixture
def tab(chromium: Chromium) -> Iterator[Tab]:
    tab = Tab.opened(chromium)
    yield tab
    tab.close()


@pytest.mark.parametrize(
    ("width", "card"), [(320, (280, 300)), (390, (350, 370)), (700, (600, 600))]
)
def test_a_mail_fits_the_window(
    tab: Tab, tmp_path: Path, width: int, card: tuple[int, int]
) -> None:
    content = a_content()
    chart = f"data:image/png;base64,{base64.b64encode(chart_of(content)).decode()}"
    file = tmp_path / "mail.html"
    file.write_text(report_html(content, Links(DASHBOARD, f"{DASHBOARD}?stop"), chart))

    tab.set_size(width, mobile=True)
    tab.go(file.as_uri())

    is_cut, shown, has_image, is_inside = tab.js(WIDTHS)
    assert (is_cut, has_image, is_inside) == (False, True, True)
    assert card[0] <= shown <= card[1]
    loaded = {url.partition(":")[0] for _, url in tab.requests}
    assert loaded <= {"file", "data"}
    assert tab.complaints == []


def test_the_button_of_the_page_stops_the_mails(tab: Tab, small: Tenant) -> None:
    store = RegistryStore(small.stack.settings.registry_url)
    report = store.create(
        Report(
            id="rep_ofbrowser",
            organization_id=small.website.organization_id,
            website_id=small.website.id,
            name="Weekly numbers",
            recipients=("a@shop.example", "b@shop.example"),
            created_at=now_ms(),
            updated_at=now_ms(),
        )
    )
    sign_ins = SignIns(store.sign_ins(), now_ms, 1)
    tab.go(unsubscribe_url(small.stack.query_url, sign_ins, report.id, "a@shop.example", now_ms()))
    assert tab.js(HEADING) == "Stop these mails?"
    assert tab.js("getComputedStyle(document.querySelector('main')).maxWidth") == "440px"

    tab.click("button")

    eventually(lambda: tab.js(HEADING) == "These mails are stopped", 20)
    assert store.get(Report, report.id).recipients == ("b@shop.example",)
    store.delete(Report, report.id)
    assert tab.complaints == []
    store.close()
