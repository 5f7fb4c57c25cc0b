"""GET /v1/receipts/{receipt}: what became of each item, by its place in the request."""

import secrets
import zlib
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from query.engine.quarantine import MAX_SEND_DELAY_MS
from schemas.lake.committed_offsets import (
    app_id,
    epoch_app_id,
    identity_app_id,
)
from schemas.lake.lost_ranges import lost_messages_reason
from schemas.receipts import RECEIPT_FORMAT, InvalidReceipt, Receipt, ReceiptKey, unverified
from schemas.spool_deliveries import Delivery, deliveries_path, spool_id, write_deliveries
from schemas.tables import EVENTS, QUARANTINE
from tests.http_client import Reply
from tests.query.lake import Stored, a_view
from tests.query.query_service import InProcessService, reused, start_service

RECEIVED = 1_795_000_000_000
AT = datetime.fromtimestamp(RECEIVED / 1000, UTC)
THREE = Receipt(RECEIPT_FORMAT, "events", 1, 2, 40, 10, 3, RECEIVED, "shop")
"""Items 10 to 12 of the chunk at offset 40 of partition 2."""


@reused
def service(tmp_path: Path) -> InProcessService:
    running = start_service(tmp_path)
    running.lake.moves(EVENTS, 2, 0)
    return running


def aside(seq: int, stage: str = "enrich", reason: str = "no", **more: Any) -> Stored:
    values = {
        "subject_id": "shop",
        "ts": AT,
        "received_at": AT,
        "topic": "events",
        "kafka_partition": 2,
        "kafka_offset": 40,
        "seq": seq,
        "stage": stage,
        "reason": reason,
    }
    return Stored(QUARANTINE, {**values, **more})


def stored(service: InProcessService, *rows: Stored) -> None:
    """The worker read the chunk, and left these rows in the quarantine."""
    if rows:
        service.lake.holds(*rows, as_they_are=True)
        service.lake.moves(QUARANTINE, 2, 41)
    service.lake.moves(EVENTS, 2, 41)


def look_up(service: InProcessService, receipt: Receipt = THREE, key: str = "acme") -> Reply:
    return service.ask("GET", f"/v1/receipts/{written(service, receipt)}", key=key)


def written(service: InProcessService, receipt: Receipt = THREE) -> str:
    """As a collector of this installation writes it."""
    return service.follower.snapshot.receipt_key.sign(receipt)


def states(reply: Reply) -> list[tuple[int, str]]:
    assert reply.status == 200, reply.body
    return [(item["index"], item["state"]) for item in reply.json["data"]["items"]]


def test_what_no_worker_has_read_is_pending(service: InProcessService) -> None:
    service.lake.moves(EVENTS, 2, 40)

    assert states(look_up(service)) == [(0, "pending"), (1, "pending"), (2, "pending")]


def test_before_anything_was_ever_stored_everything_is_pending(tmp_path: Path) -> None:
    assert states(look_up(start_service(tmp_path))) == [
        (0, "pending"),
        (1, "pending"),
        (2, "pending"),
    ]


def test_what_a_worker_has_read_is_stored_from_the_next_look_on(service: InProcessService) -> None:
    assert states(look_up(service))[0] == (0, "pending")
    stored(service)

    reply = look_up(service)

    assert reply.json == {
        "success": True,
        "data": {
            "receipt": written(service),
            "type": "custom_event",
            "receivedAt": "2026-11-18T11:06:40.000Z",
            "total": 3,
            "counts": {
                "stored": 3, "duplicate": 0, "quarantined": 0, "erased": 0, "dropped": 0,
                "pending": 0, "spooled": 0, "lost": 0, "unknown": 0,
            },
            "items": [{"index": n, "state": "stored"} for n in (0, 1, 2)],
        },
    }  # fmt: skip


def test_the_items_that_privacy_dropped_are_the_last_ones(service: InProcessService) -> None:
    stored(service)

    reply = look_up(service, replace(THREE, indexes=(0, 2, 1), dropped=2))

    assert states(reply) == [(0, "stored"), (2, "dropped"), (1, "dropped")]


def test_each_item_has_a_fate_of_its_own(service: InProcessService) -> None:
    stored(
        service, aside(10, "duplicate", "seen before"), aside(12, "enrich", "'ts' is no instant")
    )

    data = look_up(service).json["data"]

    assert data["items"] == [
        {"index": 0, "state": "duplicate", "reason": "seen before"},
        {"index": 1, "state": "stored"},
        {"index": 2, "state": "quarantined", "stage": "enrich", "reason": "'ts' is no instant"},
    ]
    assert {state: count for state, count in data["counts"].items() if count} == {
        "stored": 1,
        "duplicate": 1,
        "quarantined": 1,
    }


def test_an_item_that_was_sent_again_is_what_it_became(service: InProcessService) -> None:
    later: dict[str, Any] = {"kafka_offset": 44}
    stored(
        service,
        *(aside(seq, "decode", "no") for seq in (10, 11, 12)),
        aside(0, "replayed", "replay:events/1/2/40/10", **later),
        aside(1, "duplicate", "replay:events/1/2/40/10", **later),
        aside(2, "replayed", "replay:events/1/2/40/11", **later),
        aside(2, "write", "no again", **later),
        aside(3, "duplicate", "replay:events/1/2/40/12", **later),
    )

    assert look_up(service).json["data"]["items"] == [
        {"index": 0, "state": "stored", "reason": "sent again from the quarantine"},
        {"index": 1, "state": "quarantined", "stage": "write", "reason": "no again"},
        {"index": 2, "state": "duplicate", "reason": "sent again from the quarantine"},
    ]


def test_an_item_that_is_not_in_its_table_was_erased(unused_service: InProcessService) -> None:
    service = unused_service
    at: dict[str, Any] = {"epoch": 1, "kafka_partition": 2, "kafka_offset": 40}
    service.lake.holds(a_view("/", at=AT.isoformat(), seq=10, **at), as_they_are=True)
    again = aside(0, "replayed", "replay:events/1/2/40/11", kafka_offset=44)
    stored(service, aside(11, "decode", "no"), again)
    before = states(look_up(service))
    body = {"websiteId": "shop", "visitor": "of item 12"}
    assert service.ask("POST", "/v1/erasures", body, key="acme-admin").status == 201

    assert before == [(0, "stored"), (1, "stored"), (2, "stored")]
    assert states(look_up(service)) == [(0, "stored"), (1, "stored"), (2, "erased")]


def test_items_are_named_by_their_place_in_the_request(service: InProcessService) -> None:
    stored(service, aside(11))

    reply = look_up(service, replace(THREE, indexes=[0, 3, 1]))

    assert states(reply) == [(0, "stored"), (3, "quarantined"), (1, "stored")]


def test_what_became_of_others_is_nothing_to_it(service: InProcessService) -> None:
    others: list[dict[str, Any]] = [
        {"seq": 9},
        {"seq": 13},
        {"kafka_offset": 39},
        {"kafka_partition": 3},
        {"topic": "vitals"},
        {"subject_id": "blog"},
        {"ts": datetime.fromtimestamp(RECEIVED / 1000 - 1, UTC)},
        {"ts": datetime.fromtimestamp((RECEIVED + MAX_SEND_DELAY_MS) / 1000, UTC)},
    ]
    stored(service, *(aside(**{"seq": 11, **other}) for other in others))

    assert states(look_up(service)) == [(0, "stored"), (1, "stored"), (2, "stored")]


def test_a_chunk_that_was_unreadable_is_so_for_all(service: InProcessService) -> None:
    stored(service, aside(0, "decode", "not a chunk", subject_id=None))

    assert {state for _, state in states(look_up(service))} == {"quarantined"}


def test_what_kafka_deleted_unread_is_lost(service: InProcessService) -> None:
    later = {"ts": datetime(2026, 11, 25, tzinfo=UTC), "kafka_offset": 30, "subject_id": None}
    stored(service, aside(0, "lost", "deleted", first_offset=30, next_offset=41, **later))

    assert {state for _, state in states(look_up(service))} == {"lost"}
    assert {state for _, state in states(look_up(service, replace(THREE, offset=29)))} == {"stored"}


def test_lost_ranges_of_rows_without_their_columns_are_read_from_the_reason(
    service: InProcessService,
) -> None:
    later = {"ts": datetime(2026, 11, 25, tzinfo=UTC), "kafka_offset": 30, "subject_id": None}
    stored(service, aside(0, "lost", lost_messages_reason(30, 41), **later))

    assert {state for _, state in states(look_up(service))} == {"lost"}
    assert {state for _, state in states(look_up(service, replace(THREE, offset=29)))} == {"stored"}


def test_what_a_topic_took_along_when_it_was_made_anew_is_lost(tmp_path: Path) -> None:
    service = start_service(tmp_path, ingest_epoch=2)
    service.lake.moves(EVENTS, 2, 40)

    assert {state for _, state in states(look_up(service))} == {"lost"}
    assert {state for _, state in states(look_up(service, replace(THREE, offset=39)))} == {"stored"}


def test_receipts_of_two_makings_of_a_topic_are_told_apart(service: InProcessService) -> None:
    old, new = replace(THREE, topic_id="old"), replace(THREE, topic_id="new")
    assert {state for _, state in states(look_up(service, old))} == {
        "pending"
    }  # no worker met it yet
    service.lake.keeps(EVENTS, identity_app_id("events", "old"), 1)
    service.lake.keeps(EVENTS, epoch_app_id("events"), 1)
    assert {state for _, state in states(look_up(service, old))} == {"pending"}

    service.lake.keeps(EVENTS, identity_app_id("events", "new"), 2)
    service.lake.keeps(EVENTS, epoch_app_id("events"), 2)
    assert {state for _, state in states(look_up(service, old))} == {"lost"}
    assert {state for _, state in states(look_up(service, new))} == {"pending"}

    service.lake.holds(aside(11, epoch=2), aside(12, epoch=1), as_they_are=True)
    for table in (QUARANTINE, EVENTS):
        service.lake.keeps(table, app_id(2, "events", 2), 41)
    assert states(look_up(service, new)) == [(0, "stored"), (1, "quarantined"), (2, "stored")]


def test_a_place_that_kafka_could_not_tell_is_unknown(service: InProcessService) -> None:
    stored(service)

    assert {state for _, state in states(look_up(service, replace(THREE, offset=-1)))} == {
        "unknown"
    }


def test_a_spooled_request_is_looked_up_where_its_collector_delivered_it(
    service: InProcessService,
) -> None:
    stored(service, aside(11))
    file = f"{secrets.token_hex(6)}-000001"
    spooled = replace(THREE, partition=0, offset=-1, first_position=0, spool_id=spool_id(file, 5))
    elsewhere = look_up(service, spooled)
    path = deliveries_path(service.data, file)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_deliveries(path, [(4, Delivery(2, 7, 0, "")), (6, Delivery(2, 8, 0, ""))])
    before = look_up(service, spooled)
    write_deliveries(path, [(5, Delivery(2, 40, 10, ""))])

    assert {state for _, state in states(elsewhere)} == {"unknown"}
    assert states(before) == [(0, "spooled"), (1, "spooled"), (2, "spooled")]
    assert states(look_up(service, spooled)) == [
        (0, "stored"), (1, "quarantined"), (2, "stored"),
    ]  # fmt: skip


def test_a_receipt_of_several_websites_is_looked_up_in_all_of_them(
    service: InProcessService,
) -> None:
    stored(service, aside(10), aside(11, subject_id="blog"), aside(12, subject_id="rival"))

    reply = look_up(service, replace(THREE, owner_id="acme"))

    assert states(reply) == [(0, "quarantined"), (1, "quarantined"), (2, "stored")]


def test_a_key_looks_up_what_it_reaches(service: InProcessService) -> None:
    reach = [
        ("acme-track", "shop", 200),
        ("acme-shop", "shop", 200),
        ("acme-shop", "blog", 403),
        ("acme-shop", "acme", 403),
        ("globex", "shop", 403),
        ("globex", "acme", 403),
        ("acme", "nobody", 403),
    ]

    assert reach == [
        (key, owner, look_up(service, replace(THREE, owner_id=owner), key).status)
        for key, owner, _ in reach
    ]


def test_what_is_no_receipt_is_not_found(service: InProcessService) -> None:
    for text in ("hello", written(service)[:-1], written(service, replace(THREE, topic="x"))):
        reply = service.ask("GET", f"/v1/receipts/{text}")

        assert (reply.status, reply.json["code"]) == (404, "NOT_FOUND")


def test_a_made_up_receipt_tells_nothing_of_how_far_a_partition_is(
    service: InProcessService,
) -> None:
    stored(service)
    real = written(service)
    # made with a key of the maker's own; and the bits of a real one turned, one after the other
    made_up = [ReceiptKey("").sign(replace(THREE, offset=n)) for n in (0, 40, 41, 2**40, -1)]
    altered = [
        real[:n] + ("A" if real[n] != "A" else "B") + real[n + 1 :] for n in range(len(real))
    ]
    altered += [real[:-11], real[:-4], real + "AAAA"]

    replies = [service.ask("GET", f"/v1/receipts/{text}") for text in (*made_up, *altered)]

    assert look_up(service).status == 200
    assert unverified(made_up[1]) == THREE
    [told] = {(reply.status, reply.body) for reply in replies}
    assert told[0] == 404
    assert InvalidReceipt.UNKNOWN in replies[0].json["error"]


def test_a_receipt_of_before_they_were_signed_is_refused_and_told_so(
    service: InProcessService,
) -> None:
    stored(service)
    encoded = msgspec.msgpack.encode(replace(THREE, format=1))
    crc = zlib.crc32(encoded).to_bytes(4)

    reply = service.ask(
        "GET", f"/v1/receipts/{urlsafe_b64encode(encoded + crc).decode().rstrip('=')}"
    )

    assert (reply.status, reply.json["error"]) == (404, InvalidReceipt.OLD)
