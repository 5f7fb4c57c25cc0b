"""GET /l/{slug}: the redirect, and the click that it records."""

import asyncio
from pathlib import Path

import pytest

from ingest.links.targets import location_header, with_visitor_query
from tests.asgi_client import request_once, send_request
from tests.ingest.in_memory_collector import (
    NOW,
    InMemoryCollector,
    anonymous_ids,
    in_memory_collector,
)
from tests.ingest.links.qr_reader import read_qr_code

DAY_MS = 86_400_000
BROWSER = {"accept": "text/html,application/xhtml+xml"}


def test_a_click_is_recorded_and_redirected(collector: InMemoryCollector, tmp_path: Path) -> None:
    headers = {"referer": "https://news.example/", "user-agent": "Firefox"}

    reply = request_once(collector.app, "GET", "/l/spring", headers=headers)

    assert (reply.status, reply.headers["location"]) == (302, "https://t.example/a?b=c")
    assert reply.headers["cache-control"] == "private, no-cache"
    assert reply.headers["x-robots-tag"] == "noindex"
    assert reply.headers["x-ratelimit-limit"] == "30000"
    [sent] = collector.producer.sent
    [envelope] = sent.envelopes
    visitor = anonymous_ids(tmp_path).for_links("acme", "203.0.113.0", "Firefox", NOW)
    assert sent.topic == "clicks"
    assert (envelope.subject_id, envelope.organization_id, envelope.count) == ("lnk_1", "acme", 1)
    assert (envelope.client_network, envelope.user_agent) == ("203.0.113.0", "Firefox")
    assert [{k: v for k, v in item.items() if v is not None} for item in sent.items] == [
        {
            "slug": "spring",
            "timestamp": NOW,
            "anonymousId": visitor,
            "referrer": "https://news.example/",
        }
    ]


def test_a_head_request_is_no_click(collector: InMemoryCollector) -> None:
    reply = request_once(collector.app, "HEAD", "/l/spring")

    assert (reply.status, reply.headers["location"]) == (302, "https://t.example/a?b=c")
    assert collector.producer.sent == []


def test_a_revalidation_is_a_click_and_not_modified(
    collector: InMemoryCollector,
) -> None:
    tag = request_once(collector.app, "GET", "/l/spring").headers["etag"]

    again = request_once(collector.app, "GET", "/l/spring", headers={"if-none-match": tag})
    elsewhere = request_once(collector.app, "GET", "/l/moved", headers={"if-none-match": tag})

    assert (again.status, again.body, "location" in again.headers) == (304, b"", False)
    assert (again.headers["etag"], "content-length" in again.headers) == (tag, False)
    assert elsewhere.status == 302
    assert len(collector.producer.sent) == 3


# Where it leads


@pytest.mark.parametrize(
    ("target", "query", "led"),
    [
        ("https://t.example/", "", "https://t.example/"),
        ("https://t.example", "x=1", "https://t.example?x=1"),
        ("https://t.example/a?b=c", "x", "https://t.example/a?b=c&x"),
        ("https://t.example/a?b=c#d", "x=1&y=%20z", "https://t.example/a?b=c&x=1&y=%20z#d"),
        # what whoever made the link says of it stays as it is
        ("https://t.example/?utm_source=mail", "utm_source=x&utm_term=y",
         "https://t.example/?utm_source=mail&utm_term=y"),
        ("https://t.example/?a%5B%5D=1", "a[]=2&&b", "https://t.example/?a%5B%5D=1&b"),
        ("https://t.example/", "n=é", "https://t.example/?n=%C3%A9"),
        ("shop://cart?item=1", "x=1", "shop://cart?item=1"),
    ],
)  # fmt: skip
def test_query_parameters_are_added_to_the_target(target: str, query: str, led: str) -> None:
    assert with_visitor_query(target, query.encode()) == led


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("https://müller.example/straße?q=ü", "https://xn--mller-kva.example/stra%C3%9Fe?q=%C3%BC"),
        ("http://Straße.example:8080/", "http://xn--strae-oqa.example:8080/"),
        ("https://例え。テスト", "https://xn--r8jz45g.xn--zckzah"),
        ("https://[::1]:80/ü", "https://[::1]:80/%C3%BC"),
        ("shop://müller/cart", "shop://m%C3%BCller/cart"),
    ],
)
def test_the_host_of_a_target_is_sent_in_punycode(target: str, location: str) -> None:
    assert location_header(target) == location.encode()


@pytest.mark.parametrize("path", ["/l/spring", "/l/spring/"])
def test_the_redirect_has_the_query_parameters_of_the_visitor(
    collector: InMemoryCollector, path: str
) -> None:
    reply = request_once(collector.app, "GET", f"{path}?x=1&b=other&y")

    assert reply.headers["location"] == "https://t.example/a?b=c&x=1&y"


def test_an_expired_link_may_have_another_target(collector: InMemoryCollector) -> None:
    reply = request_once(collector.app, "GET", "/l/moved")

    assert (reply.status, reply.headers["location"]) == (302, "https://t.example/over")


@pytest.mark.parametrize(
    ("agent", "target"),
    [
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X)", "https://apps.example/ios"),
        ("Mozilla/5.0 (Linux; Android 15; Pixel 9)", "https://apps.example/android"),
        ("Mozilla/5.0 (Windows NT 10.0)", "https://t.example/a?b=c"),
    ],
)
def test_phones_are_redirected_to_their_own_target(
    collector: InMemoryCollector, agent: str, target: str
) -> None:
    reply = request_once(collector.app, "GET", "/l/app", headers={"user-agent": agent})

    assert reply.headers["location"] == target


# Where it does not


@pytest.mark.parametrize("path", ["/l/nothing", "/l/", "/l/spring/more", "/l/nothing/qr.svg"])
def test_an_unknown_slug_is_not_found(collector: InMemoryCollector, path: str) -> None:
    program, person = (
        request_once(collector.app, "GET", path),
        request_once(collector.app, "GET", path, headers=BROWSER),
    )

    assert program.status == 404
    assert program.json == {"status": "error", "message": "No such link", "code": "NOT_FOUND"}
    assert (person.status, person.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert b"<h1>Link not found</h1>" in person.body
    assert person.headers["x-ratelimit-remaining"] == "5998"


def test_an_expired_link_is_not_found(collector: InMemoryCollector) -> None:
    reply = request_once(collector.app, "GET", "/l/gone")

    assert (reply.status, reply.json["message"]) == (404, "This link has expired")
    assert (
        b"<h1>This link has expired</h1>"
        in request_once(collector.app, "GET", "/l/gone", None, BROWSER).body
    )
    assert collector.producer.sent == []


def test_a_flood_of_events_limits_no_redirects(collector: InMemoryCollector) -> None:
    collector.set_limits("acme", collect=1)

    posted = [collector.post("/track?website_id=shop", {"name": "a"}).status for _ in range(2)]

    assert (posted, request_once(collector.app, "GET", "/l/spring").status) == ([200, 429], 302)


def test_a_rate_limited_visitor_gets_a_page_or_json(collector: InMemoryCollector) -> None:
    collector.set_limits("acme", redirects=1)
    assert request_once(collector.app, "GET", "/l/spring", headers=BROWSER).status == 302

    person = request_once(collector.app, "GET", "/l/spring", headers=BROWSER)
    program = request_once(collector.app, "GET", "/l/spring")

    assert (person.status, person.headers["content-type"]) == (429, "text/html; charset=utf-8")
    assert b"<h1>Too many requests for this link</h1>" in person.body
    assert person.headers["cache-control"] == "no-store"
    assert (program.status, program.json["code"]) == (429, "RATE_LIMIT_EXCEEDED")
    for reply in (person, program):
        assert [reply.headers[name] for name in ("retry-after", "x-ratelimit-remaining")] == [
            "60",
            "0",
        ]
    assert len(collector.producer.sent) == 1


# What programs are shown


@pytest.mark.parametrize(
    "agent",
    [
        "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
        "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
        "WhatsApp/2.24.8 A",
    ],
)
def test_a_preview_bot_gets_the_preview_page(collector: InMemoryCollector, agent: str) -> None:
    reply = request_once(collector.app, "GET", "/l/shown", headers={"user-agent": agent})

    assert (reply.status, reply.headers["x-robots-tag"]) == (200, "noindex")
    page = reply.body.decode()
    assert '<meta property="og:title" content="Spring &amp; &quot;more&quot;">' in page
    assert '<meta property="og:image" content="https://t.example/a.png?x=1&amp;y=2">' in page
    assert '<meta name="twitter:card" content="summary_large_image">' in page
    assert "og:video" not in page
    assert '<a href="https://t.example/a?b=c" rel="noreferrer">' in page
    assert len(collector.producer.sent) == 1  # the stream flags it as a program's


def test_a_preview_bot_is_redirected_from_a_link_without_preview(
    collector: InMemoryCollector,
) -> None:
    assert (
        request_once(
            collector.app, "GET", "/l/spring", headers={"user-agent": "Twitterbot/1.0"}
        ).status
        == 302
    )


def test_a_visitor_is_redirected_from_a_link_with_preview(collector: InMemoryCollector) -> None:
    assert (
        request_once(collector.app, "GET", "/l/shown", headers={"user-agent": "Firefox"}).status
        == 302
    )


def test_crawlers_may_fetch_links_only(collector: InMemoryCollector) -> None:
    reply = request_once(collector.app, "GET", "/robots.txt")

    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    assert reply.body == b"User-agent: *\nAllow: /l/\nDisallow: /\n"


# Its code


def test_a_link_has_a_qr_code(collector: InMemoryCollector) -> None:
    reply = request_once(collector.app, "GET", "/l/spring/qr.svg", headers={"host": "go.example"})

    assert (reply.status, reply.headers["content-type"]) == (200, "image/svg+xml")
    assert read_qr_code(reply.body) == "http://go.example/l/spring"
    assert collector.producer.sent == []


def test_a_qr_code_has_the_scheme_of_a_trusted_proxy(tmp_path: Path) -> None:
    headers = {"host": "a.example", "x-forwarded-proto": "https"}
    behind = in_memory_collector(tmp_path, trusted_proxies="203.0.113.0/24")

    trusted = request_once(behind.app, "GET", "/l/spring/qr.svg", headers=headers)
    stranger = request_once(
        behind.app, "GET", "/l/spring/qr.svg", headers=headers, address="198.51.100.1"
    )

    assert read_qr_code(trusted.body) == "https://a.example/l/spring"
    assert read_qr_code(stranger.body) == "http://a.example/l/spring"


def test_qr_codes_are_throttled_and_cached_and_redirects_continue(
    collector: InMemoryCollector,
) -> None:
    async def codes(*hosts: str) -> list[int]:
        replies = [
            send_request(collector.app, "GET", "/l/spring/qr.svg", headers={"host": host})
            for host in hosts
        ]
        led = send_request(collector.app, "GET", "/l/spring")
        return [reply.status for reply in await asyncio.gather(*replies, led)]

    hosts = [f"{number}.example" for number in range(10)]

    assert asyncio.run(codes(*hosts)) == [200] * 9 + [503, 302]
    assert asyncio.run(codes(*hosts[:9] * 2)) == [200] * 18 + [302]


# Who clicked


def test_a_visitor_has_one_id_per_day(tmp_path: Path) -> None:
    known = anonymous_ids(tmp_path)
    name = known.for_links("acme", "203.0.113.0", "Firefox", NOW)

    assert name == known.for_links("acme", "203.0.113.0", "Firefox", NOW + 1)
    assert len(name) == 32
    others = {
        known.for_links("acme", "203.0.113.0", "Firefox", NOW + DAY_MS),
        known.for_links("solo-org", "203.0.113.0", "Firefox", NOW),
        known.for_links("acme", "203.0.112.0", "Firefox", NOW),
        known.for_links("acme", "203.0.113.0", "Chrome", NOW),
        anonymous_ids(tmp_path / "elsewhere").for_links("acme", "203.0.113.0", "Firefox", NOW),
    }
    assert len(others | {name}) == 6
