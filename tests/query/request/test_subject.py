"""Every endpoint with every kind of key: access to subjects, and no hint at what exists."""

from pathlib import Path

import pytest

from tests.query.lake import Stored, a_click, a_view, a_vital, an_error, an_outbound_click
from tests.query.query_service import KEYS, NOVEMBER, InProcessService, reused, start_service

STANDARD = {"parameters": ["summary"], **NOVEMBER}
CUSTOM = {
    "query": {"table": "events", "selects": [{"field": "*", "aggregate": "count"}]},
    **NOVEMBER,
}
CLICKS = {
    "query": {"table": "clicks", "selects": [{"field": "*", "aggregate": "count"}]},
    **NOVEMBER,
}
LINK = {"parameters": ["link_total_clicks"], **NOVEMBER}
NEW = {"name": "n", "targetUrl": "https://t.example/"}

ORDER = ("acme", "acme-admin", "acme-track", "acme-shop", "globex", None, "wrong")

# Method, path, body; the status for each key of ORDER.
MATRIX = [
    ("POST", "/v1/query?website_id=shop", STANDARD, (200, 200, 403, 200, 403, 401, 401)),
    ("POST", "/v1/query?website_id=blog", STANDARD, (200, 200, 403, 403, 403, 401, 401)),
    ("POST", "/v1/query?website_id=rival", STANDARD, (403, 403, 403, 403, 200, 401, 401)),
    ("POST", "/v1/query?website_id=none", STANDARD, (403, 403, 403, 403, 403, 401, 401)),
    ("POST", "/v1/query?link_id=go", LINK, (200, 200, 403, 403, 403, 401, 401)),
    ("POST", "/v1/query?link_id=none", LINK, (403, 403, 403, 403, 403, 401, 401)),
    ("POST", "/v1/query/custom?website_id=shop", CUSTOM, (200, 200, 403, 200, 403, 401, 401)),
    ("POST", "/v1/query/custom?website_id=rival", CUSTOM, (403, 403, 403, 403, 200, 401, 401)),
    ("POST", "/v1/query/custom?website_id=shop", CLICKS, (200, 200, 403, 403, 403, 401, 401)),
    ("POST", "/v1/query/custom?link_id=go", CLICKS, (200, 200, 403, 403, 403, 401, 401)),
    ("POST", "/v1/query/custom?link_id=go", CUSTOM, (400, 400, 403, 403, 403, 401, 401)),
    ("GET", "/v1/links", None, (200, 200, 403, 403, 200, 401, 401)),
    ("GET", "/v1/links?organizationId=globex", None, (403, 403, 403, 403, 200, 401, 401)),
    ("GET", "/v1/links?organizationId=none", None, (403, 403, 403, 403, 403, 401, 401)),
    ("GET", "/v1/links/go", None, (200, 200, 403, 404, 404, 401, 401)),
    ("GET", "/v1/links/none", None, (404, 404, 403, 404, 404, 401, 401)),
    ("PATCH", "/v1/links/go", {"name": "m"}, (200, 200, 403, 403, 404, 401, 401)),
    ("POST", "/v1/links", NEW, (201, 201, 403, 403, 201, 401, 401)),
    (
        "POST",
        "/v1/links",
        {**NEW, "organizationId": "globex"},
        (403, 403, 403, 403, 201, 401, 401),
    ),
    ("DELETE", "/v1/links/away", None, (404, 404, 403, 403, 200, 401, 401)),
]


@reused
def service(tmp_path: Path) -> InProcessService:
    running = start_service(tmp_path)
    running.keys = {**running.keys, "wrong": "tm_no_key"}
    return running


@pytest.mark.parametrize(("method", "path", "body", "statuses"), MATRIX)
def test_each_key_reaches_what_it_should(
    service: InProcessService, method: str, path: str, body: object, statuses: tuple[int, ...]
) -> None:
    found = {key: service.ask(method, path, body, key).status for key in ORDER}

    assert found == dict(zip(ORDER, statuses, strict=True))


def test_every_kind_of_key_is_in_the_matrix() -> None:
    assert set(KEYS) < set(ORDER)


@pytest.mark.parametrize(
    ("foreign", "absent", "body"),
    [
        ("/v1/query?website_id=rival", "/v1/query?website_id=none", STANDARD),
        ("/v1/query?link_id=away", "/v1/query?link_id=none", LINK),
        ("/v1/query/custom?website_id=rival", "/v1/query/custom?website_id=none", CUSTOM),
    ],
)
def test_a_foreign_subject_looks_like_an_absent_one(
    service: InProcessService, foreign: str, absent: str, body: object
) -> None:
    assert service.ask("POST", foreign, body).body == service.ask("POST", absent, body).body


@pytest.mark.parametrize(
    ("ids", "status"),
    [("shop,blog", 200), ("shop, blog", 200), ("shop,", 400), (",shop", 400), ("shop,,blog", 400)],
)
def test_websites_are_separated_by_one_comma(
    service: InProcessService, ids: str, status: int
) -> None:
    reply = service.ask("POST", "/v1/query", STANDARD, website_id=ids)

    assert reply.status == status
    assert status == 200 or "'website_id' has an empty id" in reply.json["error"]


def test_a_key_of_one_website_says_of_which(service: InProcessService) -> None:
    asked = [
        service.ask("POST", "/v1/query", STANDARD, "acme-shop", website_id=f"shop,{other}")
        for other in ("blog", "rival", "none")
    ]

    assert {reply.status for reply in asked} == {403}
    assert len({reply.body for reply in asked}) == 1
    assert asked[0].json["error"].endswith("; it is for the website shop only")
    whole = service.ask("POST", "/v1/query", STANDARD, website_id="rival")
    assert whole.json["error"].endswith("; it is for websites of the organization acme only")


def test_a_foreign_link_looks_like_an_absent_one(service: InProcessService) -> None:
    assert service.ask("GET", "/v1/links/away").body == service.ask("GET", "/v1/links/none").body


ACME: list[Stored] = [
    a_view("/a", referrer_name="X"),
    an_outbound_click("https://x.example/p"),
    an_error(),
    a_vital("LCP", 5),
    a_click(),
]
GLOBEX: list[Stored] = [
    a_view("/a", website="rival", referrer_name="Y"),
    an_outbound_click("https://y.example/p", website="rival"),
    an_error("oops", website="rival"),
    a_vital("CLS", 1, website="rival"),
    a_click(link="away", organization="globex"),
]


def test_answers_do_not_change_with_the_data_of_another_tenant(service: InProcessService) -> None:
    def everything() -> list[object]:
        counted = [{"field": "*", "aggregate": "count"}]
        tables = ("events", "sessions", "errors", "vitals", "clicks", "outbound")
        return [
            service.query("summary", "pages", "traffic", "outbound_links").json["data"],
            service.query("link_total_clicks", subject="link:go").json["data"],
            *(service.custom(table, counted).json["data"] for table in tables),
        ]

    service.holds(*ACME)
    before = everything()
    service.holds(*GLOBEX, *GLOBEX)

    assert everything() == before


def test_several_types_count_as_one_request(service: InProcessService) -> None:
    first = service.query("summary", "pages", "traffic")
    second = service.query("summary")

    left = [int(reply.headers["x-ratelimit-remaining"]) for reply in (first, second)]
    assert left == [29_999, 29_998]


def test_custom_queries_and_links_have_allowances_of_their_own(service: InProcessService) -> None:
    service.query("summary")

    custom = service.custom("events", [{"field": "*", "aggregate": "count"}])
    links = service.ask("GET", "/v1/links")

    assert custom.headers["x-ratelimit-remaining"] == "5999"
    assert links.headers["x-ratelimit-remaining"] == "11999"
