"""POST /batch: a result for each item, and the status of the whole."""

import pytest

from ingest.publishing.partition_queue import DeliveryStatus
from tests.ingest.in_memory_collector import InMemoryCollector
from tests.ingest.mixed_items import AWAY, OOPS, PAYLOAD, VIEW, plain, sent


def test_a_huge_item_is_refused_for_its_size_before_anything_else(
    collector: InMemoryCollector,
) -> None:
    # 980,000 bytes of members, and a type that nobody knows: its size is what is said
    huge = {"type": "page", **dict.fromkeys((f"m{n:06}" for n in range(70_000)), 1)}

    reply = collector.post("/batch?client_id=shop", [huge, VIEW])

    assert (reply.status, plain(reply)["results"]) == (
        200,
        [
            {
                "status": "error",
                "message": "An item may have at most 65,536 bytes",
                "code": "PAYLOAD_TOO_LARGE",
                "eventType": None,
            },
            {"status": "success", "type": "track", "eventId": "e1"},
        ],
    )


def test_a_batch_is_grouped_by_kind_with_a_result_per_item(collector: InMemoryCollector) -> None:
    reply = collector.post("/batch?client_id=shop", [VIEW, OOPS, {"eventId": "bad"}, 8, AWAY])

    assert reply.status == 200
    assert plain(reply) == {
        "status": "partial",
        "batch": True,
        "processed": 3,
        "batched": {"track": 1, "error": 1, "outgoing_link": 1},
        "results": [
            {"status": "success", "type": "track", "eventId": "e1"},
            {"status": "success", "type": "error", "eventId": "e3"},
            {
                "status": "error",
                "message": "'name' is required",
                "code": "VALIDATION_ERROR",
                "eventType": "track",
                "eventId": "bad",
            },
            {
                "status": "error",
                "message": "The item must be an object, not an integer",
                "code": "VALIDATION_ERROR",
                "eventType": None,
            },
            {"status": "success", "type": "outgoing_link", "eventId": "e2"},
        ],
    }
    assert sent(collector) == [
        ("events", [VIEW, AWAY | {"name": "outgoing_link"}]),
        ("errors", [{"type": "error", **PAYLOAD}]),
    ]


def test_a_batch_of_valid_items_is_a_success(collector: InMemoryCollector) -> None:
    reply = collector.post("/batch", [VIEW, AWAY], headers={"databuddy-client-id": "shop"})

    body = plain(reply)
    assert (body["status"], body["processed"], len(body["results"])) == ("success", 2, 2)


def test_a_batch_without_a_valid_item_is_refused_item_by_item(collector: InMemoryCollector) -> None:
    reply = collector.post("/batch?client_id=shop", [{"eventId": "a"}, {"name": 7}])

    assert (reply.status, reply.json["code"]) == (400, "NO_ITEM_ACCEPTED")
    assert [result["message"] for result in reply.json["results"]] == [
        "'name' is required",
        "'name' must be a string, not an integer",
    ]


def test_a_partly_acknowledged_batch_lists_what_was_acknowledged(
    collector: InMemoryCollector,
) -> None:
    collector.producer.outcomes["errors"] = DeliveryStatus.NOT_SENT

    reply = collector.post("/batch?client_id=shop", [VIEW, OOPS])

    assert (reply.status, reply.json["code"]) == (503, "OUTCOME_UNKNOWN")
    assert reply.headers["retry-after"] == "5"
    assert reply.json["batched"] == {"track": 1}
    assert reply.json["results"] == [
        {"status": "success", "type": "track", "eventId": "e1"},
        {
            "status": "error",
            "message": "Kafka did not respond in time; nothing was accepted. Retry later",
            "code": "SERVICE_UNAVAILABLE",
            "eventType": "error",
            "eventId": "e3",
        },
    ]


@pytest.mark.parametrize(
    ("events", "errors", "code"),
    [
        (DeliveryStatus.NOT_SENT, DeliveryStatus.NOT_SENT, "SERVICE_UNAVAILABLE"),
        (DeliveryStatus.NOT_SENT, DeliveryStatus.UNKNOWN, "OUTCOME_UNKNOWN"),
        (DeliveryStatus.UNKNOWN, DeliveryStatus.ACKNOWLEDGED, "OUTCOME_UNKNOWN"),
    ],
)
def test_no_batch_is_a_success_without_acknowledgement(
    collector: InMemoryCollector, events: DeliveryStatus, errors: DeliveryStatus, code: str
) -> None:
    collector.producer.outcomes = {"events": events, "errors": errors}

    reply = collector.post("/batch?client_id=shop", [VIEW, OOPS])

    assert (reply.status, reply.json["code"]) == (503, code)


def test_a_kind_that_never_fits_is_rejected_and_not_retried(
    collector: InMemoryCollector,
) -> None:
    collector.producer.too_large = {"errors"}
    refused = {"status": "error", "message": "too large", "code": "PAYLOAD_TOO_LARGE"}

    reply = collector.post("/batch?client_id=shop", [VIEW, OOPS, {"eventId": "bad"}])

    assert (reply.status, reply.json["status"], reply.json["processed"]) == (200, "partial", 1)
    assert reply.json["results"][:2] == [
        {"status": "success", "type": "track", "eventId": "e1"},
        {**refused, "eventType": "error", "eventId": "e3"},
    ]
    alone = collector.post("/batch?client_id=shop", [OOPS])
    assert (alone.status, alone.json["results"]) == (
        413,
        [{**refused, "eventType": "error", "eventId": "e3"}],
    )


def test_retryable_errors_rank_before_too_large(
    collector: InMemoryCollector,
) -> None:
    collector.producer.too_large = {"events"}
    collector.producer.outcomes["errors"] = DeliveryStatus.NOT_SENT

    reply = collector.post("/batch?client_id=shop", [VIEW, OOPS])

    assert (reply.status, reply.json["code"]) == (503, "SERVICE_UNAVAILABLE")
