"""Authentication: API keys, website ids, and what each gives access to."""

import pytest

from tests.ingest.in_memory_collector import InMemoryCollector


def subjects(collector: InMemoryCollector) -> list[tuple[str, str, int]]:
    return [
        (envelope.subject_id, envelope.organization_id, envelope.count)
        for envelope in collector.producer.sent[-1].envelopes
    ]


@pytest.mark.parametrize("query", ["website_id=shop", "client_id=shop", "x=1&website_id=shop"])
@pytest.mark.parametrize("path", ["/track", "/errors"])
def test_a_website_id_is_enough(collector: InMemoryCollector, path: str, query: str) -> None:
    reply = collector.post(f"{path}?{query}", [{"name": "a", "message": "m"}])

    assert reply.status == 200
    assert subjects(collector) == [("shop", "acme", 1)]
    assert collector.producer.sent[0].envelopes[0].trusted is False


def test_a_client_id_header_is_enough(collector: InMemoryCollector) -> None:
    collector.post("/track", {"name": "a"}, headers={"databuddy-client-id": "blog"})

    assert subjects(collector) == [("blog", "acme", 1)]


def test_the_first_items_website_is_enough(collector: InMemoryCollector) -> None:
    collector.post("/track", [{"name": "a", "websiteId": "blog"}, {"name": "b"}])

    assert subjects(collector) == [("blog", "acme", 2)]


def test_a_request_without_a_key_has_access_to_one_website(collector: InMemoryCollector) -> None:
    reply = collector.post(
        "/track?website_id=shop", [{"name": "a"}, {"name": "b", "websiteId": "blog"}]
    )

    assert reply.json["count"] == 1
    assert reply.json["rejected"] == [
        {
            "index": 1,
            "code": "ACCESS_DENIED",
            "message": "'websiteId' is a website that this sender has no access to",
        }
    ]


def test_a_key_may_send_for_all_websites_of_its_organization(collector: InMemoryCollector) -> None:
    body = [
        {"name": "a", "websiteId": "shop"},
        {"name": "b", "websiteId": "solo"},
        {"name": "c", "websiteId": "blog"},
        {"name": "d"},
        {"name": "e", "websiteId": "shop"},
    ]

    reply = collector.post("/track", body, key="acme")

    assert reply.json["count"] == 4
    assert [reject["index"] for reject in reply.json["rejected"]] == [1]
    assert subjects(collector) == [("shop", "acme", 2), ("blog", "acme", 1), ("acme", "acme", 1)]
    assert collector.producer.sent[0].items == [body[0], body[4]]


def test_rejects_have_their_index_in_the_request(collector: InMemoryCollector) -> None:
    body = [{"name": 1}, {"name": "b", "websiteId": "solo"}, {"name": "c"}, {"nam": "d"}]

    reply = collector.post("/track?website_id=shop", body, key="acme")

    assert [reject["index"] for reject in reply.json["rejected"]] == [0, 1, 3]
    assert collector.producer.sent[0].items == [{"name": "c"}]


def test_a_request_is_refused_when_no_website_is_accessible(collector: InMemoryCollector) -> None:
    reply = collector.post("/track", {"name": "a", "websiteId": "solo"}, key="acme")

    assert (reply.status, reply.json["code"]) == (400, "NO_ITEM_ACCEPTED")
    assert reply.json["rejected"][0]["code"] == "ACCESS_DENIED"


@pytest.mark.parametrize(
    ("key", "query", "subject"),
    [
        ("acme-shop", "", "shop"),
        ("solo", "", "solo"),
        ("acme", "?website_id=blog", "blog"),
        # an organization with several websites keeps for itself what names none of them
        ("acme", "", "acme"),
    ],
)
def test_an_item_without_a_website_belongs_to_the_subject_of_the_key(
    collector: InMemoryCollector, key: str, query: str, subject: str
) -> None:
    collector.post(f"/track{query}", {"name": "a"}, key=key)

    assert [envelope.subject_id for envelope in collector.producer.sent[0].envelopes] == [subject]
    assert collector.producer.sent[0].envelopes[0].trusted is True


def test_an_x_api_key_is_a_key(collector: InMemoryCollector) -> None:
    reply = collector.post("/track", {"name": "a"}, headers={"x-api-key": collector.keys["solo"]})

    assert (reply.status, subjects(collector)) == (200, [("solo", "solo-org", 1)])


@pytest.mark.parametrize(
    ("path", "headers", "status", "code"),
    [
        ("/track", {}, 401, "AUTH_REQUIRED"),
        ("/track?website_id=", {}, 401, "AUTH_REQUIRED"),
        ("/track?website_id=shop", {"authorization": "Bearer tm_x_y"}, 401, "AUTH_REQUIRED"),
        ("/track", {"x-api-key": "nonsense"}, 401, "AUTH_REQUIRED"),
        ("/track?website_id=nobody", {}, 403, "ACCESS_DENIED"),
        ("/vitals?client_id=nobody", {}, 403, "ACCESS_DENIED"),
    ],
)
def test_an_unauthenticated_request_is_refused(
    collector: InMemoryCollector, path: str, headers: dict[str, str], status: int, code: str
) -> None:
    body = [{"name": "a", "path": "/", "metricName": "LCP", "metricValue": 1}]

    reply = collector.post(path, body, headers=headers)

    assert (reply.status, reply.json["code"]) == (status, code)
    assert collector.producer.sent == []


@pytest.mark.parametrize(
    ("key", "query"), [("reader", ""), ("acme", "solo"), ("acme-shop", "blog"), ("acme", "nobody")]
)
def test_a_key_has_no_access_beyond_its_scope_and_tenant(
    collector: InMemoryCollector, key: str, query: str
) -> None:
    path = f"/track?website_id={query}" if query else "/track"

    reply = collector.post(path, {"name": "a"}, key=key)

    assert (reply.status, reply.json["code"]) == (403, "ACCESS_DENIED")
