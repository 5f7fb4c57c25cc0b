"""Receipts: offsets, owner and indexes of the published items."""

from pathlib import Path

import pytest

from schemas.receipts import RECEIPT_FORMAT, Receipt
from tests.http_client import Reply
from tests.ingest.in_memory_collector import NOW, InMemoryCollector, in_memory_collector


@pytest.fixture
def collector(tmp_path: Path) -> InMemoryCollector:
    return in_memory_collector(tmp_path, ingest_epoch=4)


def read(collector: InMemoryCollector, reply: Reply) -> Receipt:
    """The receipt, which the key of the registry proves."""
    return collector.registry.snapshot.receipt_key.verify(reply.json["receipt"])


def test_a_receipt_has_the_offsets_of_the_items(collector: InMemoryCollector) -> None:
    reply = collector.post("/track?website_id=shop", [{"name": "a"}, {"name": "b"}])

    # InMemoryProducer keeps the n-th request at offset n, behind seven items of others
    partition = collector.producer.sent[0].partition_key % 8
    assert read(collector, reply) == Receipt(
        RECEIPT_FORMAT, "events", 4, partition, 1, 7, 2, NOW, "shop"
    )


def test_a_receipt_has_the_indexes_of_the_accepted_items(collector: InMemoryCollector) -> None:
    reply = collector.post("/track?website_id=shop", [{"nam": "a"}, {"name": "b"}, {"name": "c"}])

    assert (read(collector, reply).count, read(collector, reply).indexes) == (2, [1, 2])


def test_a_receipt_of_several_websites_is_the_organizations(collector: InMemoryCollector) -> None:
    items = [
        {"name": "a", "websiteId": "shop"},
        {"name": "b", "websiteId": "blog"},
        {"name": "c", "websiteId": "solo"},
        {"name": "d", "websiteId": "shop"},
    ]

    receipt = read(collector, collector.post("/track", items, key="acme"))

    # the chunk holds both of the shop, then that of the blog; solo is another's
    assert (receipt.owner_id, receipt.count, receipt.indexes) == ("acme", 3, [0, 3, 1])


def test_a_receipt_of_one_other_website_is_that_websites(collector: InMemoryCollector) -> None:
    receipt = read(collector, collector.post("/track", {"name": "a", "websiteId": "blog"}, "acme"))

    assert (receipt.owner_id, receipt.indexes) == ("blog", None)  # in the order of the request
