"""Several websites of one organization in one query."""

import pytest

from tests.query.lake import a_view, an_error, an_event
from tests.query.query_service import NOVEMBER, InProcessService, start_service

BOTH = "shop,blog"
STANDARD = {"parameters": ["summary"], **NOVEMBER}
COUNT = {"field": "*", "aggregate": "count", "alias": "n"}
CUSTOM = {
    "query": {"table": "events", "selects": [COUNT], "groupBy": ["website_id"]},
    **NOVEMBER,
}
METRICS = {"metrics": ["visitors", "visits", "errors"], "dimensions": ["website_id"], **NOVEMBER}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    """u1 visits the shop and the blog, u2 the blog, u3 the website of another organization."""
    service = start_service(tmp_path_factory.mktemp("websites"))
    service.holds(
        a_view("/", session="s1"),
        an_event("signup", session="s1"),
        a_view("/post", website="blog", session="s2"),
        a_view("/post", website="blog", visitor="u2", session="s3"),
        an_error(website="blog", visitor="u2", session="s3"),
        a_view("/", website="rival", visitor="u3", session="s4"),
    )
    return service


def test_a_visitor_of_two_websites_counts_once(service: InProcessService) -> None:
    [both] = service.rows("summary", subject=BOTH)
    [shop] = service.rows("summary", subject="shop")
    [blog] = service.rows("summary", subject="blog")

    assert (both["unique_visitors"], both["sessions"], both["total_events"]) == (2, 3, 4)
    assert (shop["unique_visitors"], shop["sessions"]) == (1, 1)
    assert (blog["unique_visitors"], blog["sessions"]) == (2, 2)


def test_the_website_is_a_dimension_of_metrics(service: InProcessService) -> None:
    reply = service.ask("POST", "/v1/query/metrics", METRICS, website_id=BOTH)

    assert reply.json["data"] == [
        {"website_id": "blog", "visitors": 2, "visits": 2, "errors": 1},
        {"website_id": "shop", "visitors": 1, "visits": 1, "errors": 0},
    ]


def test_the_website_is_a_column_of_custom_queries(service: InProcessService) -> None:
    events = service.ask("POST", "/v1/query/custom", CUSTOM, website_id=BOTH).json["data"]
    query = {"table": "sessions", "selects": [COUNT], "groupBy": ["website_id"]}
    body = {"query": query, **NOVEMBER}
    sessions = service.ask("POST", "/v1/query/custom", body, website_id=BOTH).json["data"]

    assert events == [{"website_id": "blog", "n": 2}, {"website_id": "shop", "n": 2}]
    assert sessions == [{"website_id": "blog", "n": 2}, {"website_id": "shop", "n": 1}]


def test_a_filter_on_the_website_keeps_its_rows(service: InProcessService) -> None:
    blog = {"field": "website_id", "operator": "eq", "value": "blog"}
    signed_up = {"has_done": {"event": "signup"}}

    [row] = service.rows("summary", subject=BOTH, filters=[blog])
    [also] = service.rows("summary", subject=BOTH, filters=[blog, signed_up])
    [alone] = service.rows("summary", subject="blog", filters=[signed_up])

    assert (row["total_events"], row["unique_visitors"]) == (2, 2)
    assert also["total_events"] == 1  # who signed up in the shop and reads the blog
    assert alone["total_events"] == 0


def test_an_export_of_both_names_the_website(service: InProcessService) -> None:
    reply = service.ask(
        "GET",
        "/v1/export/events",
        website_id=BOTH,
        columns="website_id,path",
        format="csv",
        **NOVEMBER,
    )

    assert sorted(reply.body.decode().split()) == [
        "blog,/post",
        "blog,/post",
        "shop,",
        "shop,/",
        "website_id,path",
    ]


@pytest.mark.parametrize("ids", ["shop,rival", "rival,shop", "shop,none"])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/query", STANDARD),
        ("/v1/query/metrics", METRICS),
        ("/v1/query/custom", CUSTOM),
        ("/v1/query/compile", CUSTOM),
    ],
)
def test_one_website_out_of_reach_refuses_the_whole(
    service: InProcessService, path: str, body: object, ids: str
) -> None:
    """With the same response whether or not it exists."""
    reply = service.ask("POST", path, body, website_id=ids)

    assert reply.status == 403
    assert reply.body == service.ask("POST", path, body, website_id="rival").body
    assert service.ask("POST", path, body, key="acme-shop", website_id=BOTH).status == 403


def test_an_export_of_a_foreign_website_is_refused(service: InProcessService) -> None:
    reply = service.ask("GET", "/v1/export/events", website_id="shop,rival", **NOVEMBER)

    assert reply.status == 403


def test_a_website_named_twice_counts_once(service: InProcessService) -> None:
    assert service.rows("summary", subject="shop,shop") == service.rows("summary", subject="shop")


def test_there_is_a_limit(service: InProcessService) -> None:
    reply = service.query("summary", subject=",".join(f"w{i}" for i in range(51)))

    assert reply.status == 400
    assert "names 51 websites; at most 50" in reply.json["error"]
