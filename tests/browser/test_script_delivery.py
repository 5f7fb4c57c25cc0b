"""Delivery of tidemark.js: across hosts, proxied, pinned, under a CSP, over plain HTTP."""

import json

import pytest

from ingest.endpoints.scripts import read_manifest
from tests.browser.tab import Tab
from tests.browser.tracked_website import EXIT, VIEW, TrackedWebsite
from tests.http_client import call


def test_a_page_without_a_secure_connection_is_tracked_too(
    tracked: TrackedWebsite, page: Tab
) -> None:
    page.go(tracked.add_page("/plain", tracked.tag("data-persist"), host="shop.example"))
    assert page.js("isSecureContext") is False
    page.leave()

    rows = tracked.stored("/plain", 2, "name", "host", "anonymous_id")
    assert [row[:2] for row in rows] == [(VIEW, "shop.example"), (EXIT, "shop.example")]
    assert rows[0][2] == rows[1][2]
    assert rows[0][2]


def test_the_script_travels_packed(tracked: TrackedWebsite) -> None:
    url, requests = f"{tracked.collect_url}/tidemark.js", {"accept-encoding": "gzip"}
    whole, head = (call(method, url, None, requests) for method in ("GET", "HEAD"))

    assert (whole.headers["content-encoding"], head.body) == ("gzip", b"")
    assert len(whole.body) == int(head.headers["content-length"]) <= 2048


def test_nothing_is_asked_before_it_is_sent(tracked: TrackedWebsite, page: Tab) -> None:
    page.go(tracked.add_page("/simple", tracked.tag()))
    tracked.stored("/simple", 1)

    to_collector = [
        requests for requests in page.requests if requests[1].startswith(tracked.collect_url)
    ]
    assert [method for method, _ in to_collector] == ["GET", "POST"]


def test_a_strict_policy_lets_everything_through(tracked: TrackedWebsite, page: Tab) -> None:
    to = tracked.collect_url
    page.go(
        tracked.add_page(
            "/strict",
            tracked.tag("data-vitals data-errors data-persist"),
            "<button data-tidemark=pressed>Press",
            policy=f"default-src 'none'; script-src {to}; connect-src {to}; "
            "base-uri 'none'; form-action 'none'",
        )
    )
    page.click("button")
    page.leave()

    assert tracked.stored("/strict", 3, "name") == [VIEW, "pressed", EXIT]
    assert page.complaints == []
    scripts = [url for _, url in page.requests if url.endswith(".js")]
    assert scripts == [f"{to}/tidemark{each}.js" for each in ("", "-vitals", "-errors")]


EXTRAS = ("vitals", "errors", "performance", "engagement", "downloads", "404")


@pytest.mark.parametrize("policy", ["require-trusted-types-for 'script'; trusted-types 'none'", ""])
@pytest.mark.parametrize("kind", ["defer", 'type="module"'])
def test_all_scripts_work_as_modules_with_a_nonce_and_under_trusted_types(
    tracked: TrackedWebsite, page: Tab, policy: str, kind: str
) -> None:
    place = f"/typed/{len(policy)}/{len(kind)}"
    attributes = " ".join(f"data-{extra}" for extra in EXTRAS)
    tag = tracked.tag(attributes + ' nonce="abc"').replace("defer", kind)
    strict = f"script-src 'nonce-abc' 'strict-dynamic'; {policy}"
    page.go(tracked.add_page(place, tag, "<p>Text", policy=strict))
    for extra in EXTRAS:
        page.js(f"import('{tracked.collect_url}/tidemark-{extra}.js').then(Boolean)")
    page.js("new Promise((done) => setTimeout(done, 300))")
    page.leave()

    assert tracked.stored(place, 2, "name") == [VIEW, EXIT]
    assert tracked.stored(place, 1, "exit_type", table="engagement") == ["unload"]
    assert page.complaints == []


@pytest.mark.parametrize("kind", ["defer", 'type="module"'])
def test_a_missing_website_id_is_named_and_nothing_is_sent(
    tracked: TrackedWebsite, page: Tab, kind: str
) -> None:
    tag = f'<script {kind} src="/t/tidemark.js" data-errors></script>'
    tracked.site.posted.clear()
    page.go(tracked.add_page(f"/nameless/{len(kind)}", tag))
    page.leave()

    assert tracked.site.posted == []
    thrown = [e["params"] for e in page.events if e["method"] == "Runtime.exceptionThrown"]
    assert [each["exceptionDetails"]["exception"]["value"] for each in thrown] == [
        "no data-website-id"
    ]


@pytest.mark.parametrize(
    ("place", "source", "more"),
    [
        ("/own", "/t/tidemark.js", ""),
        ("/renamed", "/t/tidemark.js?v=2/3", 'data-vitals data-collect-url="/t"'),
    ],
)
def test_a_site_may_serve_and_collect_under_its_own_path(
    tracked: TrackedWebsite, page: Tab, place: str, source: str, more: str
) -> None:
    url = tracked.add_page(place, tracked.tag(more, source), policy="default-src 'self'")

    page.go(url)
    page.leave()

    assert tracked.stored(place, 2, "name") == [VIEW, EXIT]
    assert page.complaints == []
    assert {url.split("/")[2] for _, url in page.requests} == {f"localhost:{tracked.site.port}"}


def test_the_hashed_name_passes_its_integrity_and_another_script_does_not(
    tracked: TrackedWebsite, page: Tab
) -> None:
    script = read_manifest()["tidemark"]
    source = f"{tracked.collect_url}/tidemark.{script.hash}.js"
    pinned = f'integrity="{script.integrity}" crossorigin="anonymous"'
    broken = pinned.replace(script.integrity, read_manifest()["tidemark-errors"].integrity)
    page.go(tracked.add_page("/pinned/no", tracked.tag(broken, source)))
    page.go(tracked.add_page("/pinned/yes", tracked.tag(pinned, source)))
    page.leave()

    assert tracked.stored("/pinned", 2, "path") == ["/pinned/yes"] * 2
    assert len(page.complaints) == 1
    assert "integrity" in page.complaints[0]


QUICK = """<script>{
  const real = setTimeout;
  window.pauses = [];
  window.setTimeout = (run, pause) => {
    if (pause == 2000)
      for (let n = 0; n < 120; n++) queueMicrotask(() => tidemark("event", "e" + n));
    pauses.push(pause);
    return real(run, pause / 1000);
  };
}</script>"""
"""A page whose seconds are milliseconds, and on which much happens after the first refusal."""


def test_what_an_outage_held_up_is_sent_in_parts_and_stored_once(
    tracked: TrackedWebsite, page: Tab
) -> None:
    tracked.site.refusals, before = 10, len(tracked.site.posted)
    page.go(tracked.add_page("/retry", QUICK, tracked.tag("", "/t/tidemark.js")))

    names = tracked.stored("/retry", 121, "name")
    assert sorted(names) == sorted([VIEW, *(f"e{n}" for n in range(120))])
    assert [status for status, _ in page.received("/track")] == [503] * 10 + [200] * 3
    posted = tracked.site.posted[before:]
    assert [len(json.loads(body)) for body in posted] == [1, *[50] * 10, 50, 21]
    assert len(set(posted[1:11])) == 1  # the same items under the same ids
    doubled = [1000 * 2**n for n in range(9)]
    assert page.js("pauses") == [*doubled, 300_000, 300_000, 1000, 1000, 1000]
