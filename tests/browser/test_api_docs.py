"""The API pages and overviews of both services in a browser."""

import pytest

from query.app import OPENAPI_SERVICE
from query.standard.query_types import QUERY_TYPES
from tests.browser.tab import Tab
from tests.browser.tracked_website import TrackedWebsite
from tests.installation import eventually
from tests.npm.node_package import package_file

AXE = package_file("axe-core/axe.min.js").read_text() + "; 0"

OPERATION = "document.querySelector('#operations-Queries-runQueries')"


PATHS = """
(async () => {
  const paths = new Set();
  for (let y = 0; y < document.documentElement.scrollHeight; y += innerHeight / 2) {
    scrollTo(0, y);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 30)));
    for (const path of document.querySelectorAll(".opblock-summary-path"))
      paths.add(path.innerText.replaceAll("\u200b", ""));
  }
  scrollTo(0, 0);
  return [...paths];
})()
"""
"""What is seen while scrolling: of 128 operations and more Swagger UI draws those in sight."""


def open_page(tracked: TrackedWebsite, page: Tab, width: int, scheme: str) -> None:
    page.set_size(width, mobile=width < 500)
    page.tell(
        "Emulation.setEmulatedMedia",
        features=[{"name": "prefers-color-scheme", "value": scheme}],
    )
    page.go(f"{tracked.tenant.stack.query_url}/docs")
    eventually(lambda: page.js(f"{OPERATION} !== null"), 20)
    page.js(f"{OPERATION}.querySelector('.opblock-summary-control').click()")
    eventually(lambda: page.js(f"{OPERATION}.querySelector('textarea') !== null"), 20)


def violations(page: Tab, *rules: str) -> list[str]:
    """What axe finds with these rules."""
    page.js(AXE)
    found: list[str] = page.js(
        f"axe.run({{ runOnly: {list(rules)} }})"
        ".then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).join()))"
    )
    return found


def type_entries(page: Tab) -> list[str]:
    """The names of the query types that can be seen."""
    found: list[str] = page.js(
        "[...document.querySelectorAll('.query-type')].filter(e => e.checkVisibility())"
        ".flatMap(e => e.querySelector('h3').innerText.split(' or '))"
    )
    return found


@pytest.mark.parametrize(
    ("width", "scheme"), [(1200, "light"), pytest.param(390, "dark", marks=pytest.mark.long)]
)
def test_the_api_page_is_complete_and_asks_no_other_host(
    tracked: TrackedWebsite, page: Tab, width: int, scheme: str
) -> None:
    open_page(tracked, page, width, scheme)

    documented = {o.path for o in OPENAPI_SERVICE.operations if o.path != "/"}
    assert set(page.js(PATHS)) >= documented
    assert page.js("document.documentElement.scrollWidth") <= width
    assert page.js("document.documentElement.matches('.dark-mode')") is (scheme == "dark")
    assert page.complaints == []
    host = tracked.tenant.stack.query_url.split("/")[2]
    assert {url.split("/")[2] for _, url in page.requests if url.startswith("http")} == {host}


def test_every_form_field_of_the_api_page_has_a_name(tracked: TrackedWebsite, page: Tab) -> None:
    open_page(tracked, page, 1200, "light")

    rules = ("label", "select-name", "button-name", "link-name", "document-title", "html-has-lang")
    assert violations(page, *rules, "landmark-one-main", "scrollable-region-focusable") == []
    time_zone = page.js(f"{OPERATION}.querySelector('[data-param-name=timezone] input').value")
    assert time_zone == ""


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_text_of_the_api_page_has_contrast(tracked: TrackedWebsite, page: Tab, scheme: str) -> None:
    open_page(tracked, page, 1200, scheme)
    page.js("document.querySelector('#query-types > summary').click()")

    assert violations(page, "color-contrast") == []


def test_the_page_lists_every_query_type(tracked: TrackedWebsite, page: Tab) -> None:
    page.go(f"{tracked.tenant.stack.query_url}/docs")
    page.js("document.querySelector('#query-types > summary').click()")
    assert set(type_entries(page)) == set(QUERY_TYPES)

    page.js("document.querySelector('#query-types input').focus()")
    page.tell("Input.insertText", text="drop_off_rate")
    assert type_entries(page) == ["funnel"]
    assert page.js("document.querySelector('#query-types [role=status]').innerText") == "1 found"


def test_an_example_of_a_filter_is_not_sent_by_default(tracked: TrackedWebsite, page: Tab) -> None:
    page.go(f"{tracked.tenant.stack.query_url}/docs")
    export = "document.querySelector('#operations-Queries-exportRows')"
    eventually(lambda: page.js(f"{export} !== null"), 20)
    page.js(f"{export}.querySelector('.opblock-summary-control').click()")
    field = f"{export}.querySelector('[data-param-name=filters] input')"
    eventually(lambda: page.js(f"{field} !== null"), 20)

    assert page.js(f"{field}.value") == ""
    assert "for example" in page.js(f"{field}.closest('tr').innerText")


def test_an_operation_can_be_tried_on_the_api_page(tracked: TrackedWebsite, page: Tab) -> None:
    open_page(tracked, page, 1200, "light")
    page.js("document.querySelector('.btn.authorize').click()")
    type_into(page, ".auth-container input", tracked.tenant.key)
    page.js("document.querySelector('.auth-container .authorize').click()")
    page.js("document.querySelector('.btn-done').click()")
    field = "#operations-Queries-runQueries [data-param-name=website_id] input"
    type_into(page, field, tracked.tenant.website.id)
    page.js(f"{OPERATION}.querySelector('.execute').click()")

    status = f"{OPERATION}.querySelector('.live-responses-table tr.response td')?.innerText"
    assert eventually(lambda: page.js(status), 20).startswith("200")
    assert '"success": true' in page.js(
        f"{OPERATION}.querySelector('.live-responses-table').innerText"
    )


def type_into(page: Tab, selector: str, text: str) -> None:
    eventually(lambda: page.js(f"document.querySelector({selector!r}) !== null"), 20)
    page.js(f"document.querySelector({selector!r}).focus()")
    page.tell("Input.insertText", text=text)
    page.js("document.activeElement.blur()")  # Swagger UI takes the text over after a while


def test_the_collector_has_an_api_page(tracked: TrackedWebsite, page: Tab) -> None:
    page.go(f"{tracked.collect_url}/docs")

    track = "document.querySelector('#operations-Collect-track')"
    eventually(lambda: page.js(f"{track} !== null"), 20)
    assert page.complaints == []


def test_the_dashboard_leads_to_the_api_page_and_the_collector_to_the_dashboard(
    tracked: TrackedWebsite, page: Tab
) -> None:
    query_url, collect_url = tracked.tenant.stack.query_url, tracked.collect_url
    page.go(query_url)
    eventually(lambda: f"{query_url}/docs" in page.js("[...document.links].map(a => a.href)"), 20)

    page.go(collect_url)
    assert page.js("document.querySelector('h1').innerText") == "Tidemark collector"
    assert f"{query_url}/" in page.js("[...document.links].map(link => link.href)")
    assert violations(page, "color-contrast", "region", "landmark-one-main") == []
