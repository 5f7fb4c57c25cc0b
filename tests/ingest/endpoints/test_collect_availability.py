"""Health and rate limit headers of the collector, also while Kafka or the registry is away."""

from pathlib import Path

import pytest

from ingest.publishing.partition_queue import DeliveryStatus
from schemas.runtime.heartbeat import Heartbeat, write_heartbeat
from tests.asgi_client import request_once
from tests.ingest.in_memory_collector import (
    NOW,
    InMemoryCollector,
    in_memory_collector,
)


@pytest.mark.parametrize(
    ("outcome", "code"),
    [(DeliveryStatus.NOT_SENT, "SERVICE_UNAVAILABLE"), (DeliveryStatus.UNKNOWN, "OUTCOME_UNKNOWN")],
)
def test_a_request_without_acknowledgement_is_no_success(
    collector: InMemoryCollector, outcome: DeliveryStatus, code: str
) -> None:
    collector.producer.outcome = outcome

    reply = collector.post("/track?website_id=shop", {"name": "a"})

    assert (reply.status, reply.json["code"], reply.headers["retry-after"]) == (503, code, "5")


def test_requests_are_refused_while_kafka_is_unavailable(collector: InMemoryCollector) -> None:
    collector.producer.unavailable_reason = "away"

    reply = collector.post("/track?website_id=shop", {"name": "a"})

    assert (reply.status, reply.json["status"], reply.headers["retry-after"]) == (503, "error", "5")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/track", 405),
        ("PUT", "/track", 405),
        ("OPTIONS", "/track", 204),
        ("POST", "/nothing", 404),
        ("POST", "/l/spring", 405),
        ("POST", "/track", 401),
        ("POST", "/track?website_id=nobody", 403),
        ("GET", "/health", 200),
        ("GET", "/health/live", 200),
        ("GET", "/health/ready", 200),
    ],
)
def test_every_response_has_rate_limit_headers(
    collector: InMemoryCollector, method: str, path: str, status: int
) -> None:
    reply = request_once(collector.app, method, path, {"name": "a"} if method == "POST" else None)

    assert reply.status == status
    assert {name for name in reply.headers if name.startswith("x-ratelimit")} == {
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
    }
    if status >= 400:
        assert reply.json["status"] == "error"


def test_rate_limit_headers_describe_the_client_network(collector: InMemoryCollector) -> None:
    for _ in range(2):
        reply = collector.post("/track?website_id=shop", {"name": "a"})

    # plan free: 6,000 collection requests within 60 s, of which one network has half
    assert reply.headers["x-ratelimit-limit"] == "3000"
    assert reply.headers["x-ratelimit-remaining"] == "2998"
    assert reply.headers["x-ratelimit-reset"] == str((NOW + 60_000) // 1000)


def test_rate_limit_headers_with_a_key_describe_the_organization(
    collector: InMemoryCollector,
) -> None:
    for _ in range(2):
        reply = collector.post("/track", {"name": "a"}, key="acme")

    assert reply.headers["x-ratelimit-limit"] == "6000"
    assert reply.headers["x-ratelimit-remaining"] == "5998"


def test_a_rate_limited_request_has_retry_after(
    collector: InMemoryCollector,
) -> None:
    collector.set_limits("acme", collect=1)
    collector.post("/track", {"name": "a"}, key="acme")

    reply = collector.post("/track", {"name": "a"}, key="acme-shop")

    assert (reply.status, reply.headers["retry-after"]) == (429, "60")
    sentence = (
        "Rate limit exceeded. Please try again later. "
        "The limit for the organization's API keys (collect) is 1 requests per minute. "
        "An operator sets limits with 'tidemark organizations update acme --limit'."
    )
    assert reply.json == {
        "success": False,
        "error": sentence,
        "status": "error",
        "message": sentence,
        "code": "RATE_LIMIT_EXCEEDED",
        "limit": 1,
        "remaining": 0,
        "reset": "2026-11-18T11:07:40.000Z",
        "retryAfter": 60,
    }


def test_an_unready_collector_says_why(collector: InMemoryCollector) -> None:
    collector.producer.unavailable_reason = "not connected yet"

    reply = request_once(collector.app, "GET", "/health/ready")

    assert (reply.status, reply.json["status"]) == (503, "unready")
    assert reply.json["checks"] == {
        "limits": "ok",
        "kafka": "not connected yet",
        "disk": "ok",
        "registry": "ok",
        "storing": "ok",
        "partitions": "ok",
        "proxies": "ok",
    }
    assert request_once(collector.app, "GET", "/health/live").status == 200


def test_a_collector_without_its_registry_is_ready_and_degraded(
    collector: InMemoryCollector,
) -> None:
    collector.registry.error = "lost"

    reply = request_once(collector.app, "GET", "/health/ready")

    assert (reply.status, reply.json["ready"], reply.json["status"]) == (200, True, "degraded")
    assert reply.json["checks"] == {
        "limits": "ok",
        "kafka": "ok",
        "disk": "ok",
        "registry": "lost",
        "storing": "ok",
        "partitions": "ok",
        "proxies": "ok",
    }


def test_health_names_a_table_that_is_not_written_and_requests_are_accepted(tmp_path: Path) -> None:
    reason = "what is sent for events waits in Kafka: tidemark doctor --repair"
    write_heartbeat(tmp_path / "run", Heartbeat("worker-1", 1, NOW, "ready", reason=reason))

    reply = request_once(in_memory_collector(tmp_path).app, "GET", "/health/ready")

    assert (reply.status, reply.json["status"]) == (200, "degraded")
    assert reply.json["checks"]["storing"] == f"worker-1: {reason}"
