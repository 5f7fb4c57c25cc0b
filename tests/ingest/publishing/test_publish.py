"""The receipt of an answer: where the items lie, and which of the request they are."""

from pathlib import Path

import pytest

from schemas.receipts import RECEIPT_FORMAT, Receipt
from tests.http_client import Reply
from tests.ingest.in_memory_collector import NOW, InMemoryCollector, in_memory_collector


@pytest.fixture
def desk(tmp_path: Path) -> InMemoryCollector:
    return in_memory_collector(tmp_path, ingest_epoch=4)


def read(desk: InMemoryCollector, reply: Reply) -> Receipt:
    """The receipt, which the key of the registry proves."""
    return desk.registry.snapshot.receipts.read(reply.json["receipt"])


def test_a_receipt_says_where_the_items_lie(desk: InMemoryCollector) -> None:
    reply = desk.post("/track?website_id=shop", [{"name": "a"}, {"name": "b"}])

    # the bench's Kafka keeps the n-th request at offset n, behind seven items of others
    partition = desk.outbox.sent[0].place % 8
    assert read(desk, reply) == Receipt(
        RECEIPT_FORMAT, "events", 4, partition, 1, 7, 2, NOW, "shop"
    )


def test_a_receipt_names_the_places_of_the_good_items(desk: InMemoryCollector) -> None:
    reply = desk.post("/track?website_id=shop", [{"nam": "a"}, {"name": "b"}, {"name": "c"}])

    assert (read(desk, reply).count, read(desk, reply).indexes) == (2, [1, 2])


def test_a_receipt_of_several_websites_is_the_organizations(desk: InMemoryCollector) -> None:
    items = [
        {"name": "a", "websiteId": "shop"},
        {"name": "b", "websiteId": "blog"},
        {"name": "c", "websiteId": "solo"},
        {"name": "d", "websiteId": "shop"},
    ]

    receipt = read(desk, desk.post("/track", items, key="acme"))

    # the chunk holds both of the shop, then that of the blog; solo is another's
    assert (receipt.owner_id, receipt.count, receipt.indexes) == ("acme", 3, [0, 3, 1])


def test_a_receipt_of_one_other_website_is_that_websites(desk: InMemoryCollector) -> None:
    receipt = read(desk, desk.post("/track", {"name": "a", "websiteId": "blog"}, "acme"))

    assert (receipt.owner_id, receipt.indexes) == ("blog", [0])
