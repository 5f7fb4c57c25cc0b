"""The query service's documentation page in a browser."""

from tests.browser.tab import Tab
from tests.browser.tracked_website import TrackedWebsite
from tests.installation import eventually


def test_the_api_page_draws_itself_from_this_host_alone(tracked: TrackedWebsite, page: Tab) -> None:
    base = tracked.tenant.stack.query_url
    page.go(f"{base}/docs")
    eventually(lambda: page.js("document.querySelectorAll('#schemas details').length") > 5)

    assert page.js("document.title") == "Tidemark API"
    shown = page.js(
        "[...document.querySelectorAll('#operations summary code')].map(c => c.innerText)"
    )
    assert {"/v1/query", "/v1/query/custom", "/v1/links", "/health"} <= set(shown)
    assert page.complaints == []
    assert {url.split("/")[2] for _, url in page.requests} == {base.split("/")[2]}


def test_an_operation_can_be_tried_on_the_api_page(tracked: TrackedWebsite, page: Tab) -> None:
    page.go(f"{tracked.tenant.stack.query_url}/docs")
    details = (
        "[...document.querySelectorAll('details')].find(d => /v1.query.types/.test(d.innerText))"
    )
    eventually(lambda: page.js(f"{details} !== undefined"))

    page.js(f"document.querySelector('#key').value = {tracked.tenant.key!r}")
    page.js(f"{details}.open = true, {details}.querySelector('button').click()")

    response_text = f"{details}.querySelector('pre').innerText"
    eventually(lambda: "requests left" in page.js(response_text))
    first, second, *_ = page.js(response_text).splitlines()
    assert first == "GET /v1/query/types"
    assert second.startswith("200, ")
    assert page.complaints == []
