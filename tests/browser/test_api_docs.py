"""The query service's API page in a browser."""

import pytest

from tests.browser.tab import Tab
from tests.browser.tracked_website import TrackedWebsite
from tests.installation import eventually
from tests.npm.node_package import package_file

OPERATION = "document.querySelector('#operations-Queries-runQueries')"


def open_page(tracked: TrackedWebsite, page: Tab, width: int, scheme: str) -> None:
    page.tell(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=900,
        deviceScaleFactor=1,
        mobile=width < 500,
    )
    page.tell(
        "Emulation.setEmulatedMedia",
        features=[{"name": "prefers-color-scheme", "value": scheme}],
    )
    page.go(f"{tracked.tenant.stack.query_url}/docs")
    eventually(lambda: page.js(f"{OPERATION} !== null"), 20)
    page.js(f"{OPERATION}.querySelector('.opblock-summary-control').click()")
    eventually(lambda: page.js(f"{OPERATION}.querySelector('textarea') !== null"), 20)


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_the_api_page_is_complete_and_asks_no_other_host(
    tracked: TrackedWebsite, page: Tab, width: int, scheme: str
) -> None:
    open_page(tracked, page, width, scheme)

    shown = page.js("[...document.querySelectorAll('.opblock-summary-path')].map(p => p.innerText)")
    assert {"/v1/query", "/v1/query/custom", "/v1/links", "/health"} <= {
        path.replace("\u200b", "") for path in shown
    }
    assert page.js("document.documentElement.scrollWidth") <= width
    assert page.js("document.documentElement.matches('.dark-mode')") is (scheme == "dark")
    assert page.complaints == []
    host = tracked.tenant.stack.query_url.split("/")[2]
    assert {url.split("/")[2] for _, url in page.requests if url.startswith("http")} == {host}


def test_every_form_field_of_the_api_page_has_a_name(tracked: TrackedWebsite, page: Tab) -> None:
    open_page(tracked, page, 1200, "light")
    page.js(package_file("axe-core/axe.min.js").read_text() + "; 0")

    rules = ["label", "select-name", "button-name", "link-name", "document-title", "html-has-lang"]
    found = page.js(
        f"axe.run({{ runOnly: {rules} }})"
        ".then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).join()))"
    )
    assert found == []
    time_zone = page.js(f"{OPERATION}.querySelector('[data-param-name=timezone] input').value")
    assert time_zone == ""


def test_an_operation_can_be_tried_on_the_api_page(tracked: TrackedWebsite, page: Tab) -> None:
    open_page(tracked, page, 1200, "light")
    page.js(f"{OPERATION}.querySelector('.execute').click()")

    status = f"{OPERATION}.querySelector('tr.response td.response-col_status')?.innerText"
    eventually(lambda: (page.js(status) or "").startswith("401"), 20)
