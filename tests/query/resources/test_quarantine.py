"""Why items of a website were not stored: by reason, of one tenant, with a sample."""

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from schemas.tables import QUARANTINE
from tests.query.lake import Stored
from tests.query.query_service import NOW, InProcessService, start_service

NOW_AT = datetime.fromtimestamp(NOW / 1000, UTC)
BAD = b'{"name":"signup","properties":{"plan":"pro"}}'


def not_stored(
    reason: str = "no such zone",
    *,
    website: str | None = "shop",
    hours: float = 1,
    payload: bytes = BAD,
    **more: Any,
) -> Stored:
    """A row of the quarantine, some hours ago."""
    at = NOW_AT - timedelta(hours=hours)
    values = {
        "subject_id": website,
        "ts": at,
        "received_at": at,
        "topic": "events",
        "stage": "enrich",
        "reason": reason,
        "payload": base64.b64encode(payload).decode(),
    }
    return Stored(QUARANTINE, {**values, **more})


def listed(service: InProcessService, **query: str) -> Any:
    reply = service.ask("GET", "/v1/quarantine", **{"website_id": "shop", **query})
    assert reply.status == 200, reply.json
    return reply.json


def test_a_website_without_quarantined_items_has_no_reasons(service: InProcessService) -> None:
    assert listed(service) == {
        "success": True,
        "data": [],
        "meta": {"days": 7, "since": "2026-11-23T00:53:20.000Z", "items": 0, "reasons": 0},
    }


def test_items_are_counted_by_reason_with_the_newest_as_sample(service: InProcessService) -> None:
    service.holds(
        not_stored(hours=3, payload=b"{}"),
        not_stored(hours=1),
        not_stored(hours=2, payload=b"{}"),
        not_stored("not a number", stage="decode", topic="vitals"),
        not_stored("same eventId", stage="duplicate", payload=b""),
        not_stored("same eventId", stage="duplicate", payload=b""),
    )

    found = listed(service)

    assert found["meta"] | {"since": ""} == {"days": 7, "since": "", "items": 6, "reasons": 3}
    assert found["data"][0] == {
        "stage": "enrich",
        "reason": "no such zone",
        "table": "events",
        "items": 3,
        "replayed": 0,
        "firstAt": "2026-11-29T21:53:20.000Z",
        "lastAt": "2026-11-29T23:53:20.000Z",
        "sample": BAD.decode(),
        "remedy": "an error of this version: upgrade, then replay; report the reason",
    }
    assert [(one["stage"], one["table"], one["items"]) for one in found["data"][1:]] == [
        ("duplicate", "events", 2),
        ("decode", "vitals", 1),
    ]
    assert found["data"][1]["sample"] is None


def test_items_that_were_replayed_are_counted_apart(service: InProcessService) -> None:
    """Two of three items with one reason: one is stored now, one had been stored before."""
    at: dict[str, Any] = {"epoch": 1, "kafka_partition": 2}
    service.lake.holds(
        *(not_stored(**at, kafka_offset=7, seq=seq) for seq in (0, 1)),
        not_stored(**at, kafka_offset=8, seq=0),
        not_stored("replay:events/1/2/7/1", stage="replayed", **at, kafka_offset=9, seq=0),
        not_stored("replay:events/1/2/8/0", stage="duplicate", **at, kafka_offset=9, seq=1),
        not_stored("replay:events/0/2/7/0", stage="replayed", **at, kafka_offset=9, seq=2),
        as_they_are=True,
    )

    found = listed(service)

    assert [(one["reason"], one["items"], one["replayed"]) for one in found["data"]] == [
        ("no such zone", 1, 2)
    ]
    assert (found["meta"]["items"], found["meta"]["reasons"]) == (1, 1)


def test_a_long_sample_is_cut_and_a_broken_one_is_shown(service: InProcessService) -> None:
    service.holds(
        not_stored("long", payload=b"x" * 601),
        not_stored("broken", payload=b"\xff\x00{"),
        not_stored("whole", payload=b"y" * 599),
    )

    samples = {one["reason"]: one["sample"] for one in listed(service)["data"]}

    assert samples == {"long": "x" * 600 + "…", "broken": "\ufffd\x00{", "whole": "y" * 599}


def test_days_are_counted_back_from_now(service: InProcessService) -> None:
    service.holds(not_stored("new", hours=20), not_stored("old", hours=28))

    def reasons(days: str) -> list[str]:
        return [one["reason"] for one in listed(service, days=days)["data"]]

    assert (reasons("1"), sorted(reasons("2"))) == (["new"], ["new", "old"])
    reply = service.ask("GET", "/v1/quarantine", website_id="shop", days="0")
    assert (reply.status, reply.json["error"]) == (
        400,
        "'days' is '0'; use an integer from 1 to 366",
    )


def test_no_tenant_sees_items_of_another_or_of_nobody(service: InProcessService) -> None:
    service.holds(
        not_stored("ours"),
        not_stored("of the blog", website="blog"),
        not_stored("theirs", website="rival"),
        not_stored("of nobody", website=None),
    )

    assert [one["reason"] for one in listed(service)["data"]] == ["ours"]
    bound = service.ask("GET", "/v1/quarantine", key="acme-shop").json
    assert [one["reason"] for one in bound["data"]] == ["ours"]
    missing = service.ask("GET", "/v1/quarantine")
    assert (missing.status, "'website_id' is missing" in missing.json["error"]) == (400, True)
    rival, none = (
        service.ask("GET", "/v1/quarantine", website_id=name) for name in ("rival", "nowhere")
    )
    assert (rival.status, rival.json) == (403, none.json)


def test_the_most_frequent_reasons_are_listed(service: InProcessService) -> None:
    service.holds(
        *(not_stored(f"reason {number:03}") for number in range(101)), not_stored("often")
    )
    service.holds(not_stored("often"))

    found = listed(service)

    assert (found["meta"]["reasons"], found["meta"]["items"]) == (102, 103)
    assert len(found["data"]) == 100
    assert found["data"][0]["reason"] == "often"


def test_no_sample_is_shown_while_something_of_the_website_is_being_erased(
    unused_service: InProcessService,
) -> None:
    service = unused_service
    service.holds(not_stored())
    body = {"websiteId": "shop", "visitor": "a1"}
    assert service.ask("POST", "/v1/erasures", body, key="acme-admin").status == 201

    [found] = listed(service)["data"]

    assert (found["items"], found["sample"]) == (1, None)


def test_the_table_of_a_topic_is_found_by_its_prefix(tmp_path: Path) -> None:
    service = start_service(tmp_path, topic_prefix="eu.")
    service.holds(not_stored(topic="eu.backfill"))

    assert [one["table"] for one in listed(service)["data"]] == ["events"]
    service.close()
