"""Receipts with `bots=true`: stored items that are bots', with the rule that matched."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from schemas.receipts import RECEIPT_FORMAT, Receipt
from schemas.tables import EVENTS, QUARANTINE
from tests.http_client import Reply
from tests.query.lake import Stored, an_event
from tests.query.query_service import InProcessService, reused, start_service

RECEIVED = 1_795_000_000_000
AT = datetime.fromtimestamp(RECEIVED / 1000, UTC)
THREE = Receipt(RECEIPT_FORMAT, "events", 1, 2, 40, 10, 3, RECEIVED, "shop", [0, 4, 2])
"""Items 10 to 12 of the chunk at offset 40 of partition 2."""
PLACE = {"kafka_partition": 2, "kafka_offset": 40, "epoch": 1}


@reused
def service(tmp_path: Path) -> InProcessService:
    running = start_service(tmp_path)
    for table in (EVENTS, QUARANTINE):
        running.lake.moves(table, 2, 41)
    return running


def row(seq: int, reason: str | None, is_bot: bool = True, **more: Any) -> Stored:
    values = {**PLACE, "seq": seq, "is_bot": is_bot, "bot_reason": reason, **more}
    return an_event("signup", at=AT.isoformat().replace("+00:00", "Z"), **values)


def look_up(
    service: InProcessService, receipt: Receipt = THREE, key: str = "acme", **query: str
) -> Reply:
    text = service.follower.snapshot.receipt_key.sign(receipt)
    return service.ask("GET", f"/v1/receipts/{text}", key=key, **query)


def bots(service: InProcessService, receipt: Receipt = THREE) -> dict[int, str | None]:
    reply = look_up(service, receipt, bots="true")
    assert reply.status == 200, reply.body
    return {item["index"]: item.get("bot") for item in reply.json["data"]["items"]}


def test_stored_items_of_bots_are_named_with_their_rule(service: InProcessService) -> None:
    rows = (row(10, "crawler: Googlebot"), row(11, "hint: data centre", False), row(12, None))
    service.lake.holds(*rows, as_they_are=True)

    assert bots(service) == {0: "crawler: Googlebot", 4: None, 2: "bot"}
    assert all("bot" not in item for item in look_up(service).json["data"]["items"])


def test_bots_of_other_chunks_and_tenants_are_not_shown(service: InProcessService) -> None:
    others: list[dict[str, Any]] = [
        {"seq": 9},
        {"seq": 13},
        {"kafka_offset": 39},
        {"kafka_partition": 3},
        {"epoch": 2},
        {"website_id": "rival"},
    ]
    rows = (row(**{"seq": 11, "reason": "x", **other}) for other in others)
    service.lake.holds(*rows, as_they_are=True)

    assert set(bots(service).values()) == {None}
    assert bots(service, replace(THREE, owner_id="acme")) == {0: None, 4: None, 2: None}


def test_items_of_several_websites_are_looked_up_in_all_of_them(service: InProcessService) -> None:
    service.lake.holds(row(10, "a"), row(11, "b", website_id="blog"), as_they_are=True)

    assert bots(service, replace(THREE, owner_id="acme")) == {0: "a", 4: "b", 2: None}


def test_nothing_is_flagged_before_it_is_stored(service: InProcessService) -> None:
    later = replace(THREE, offset=41)

    assert set(bots(service, later).values()) == {None}


def test_a_key_that_may_only_send_is_told_of_no_bots(service: InProcessService) -> None:
    refused = look_up(service, key="acme-track", bots="true")

    assert look_up(service, key="acme-track", bots="false").status == 200
    assert (refused.status, refused.json["error"]) == (
        403,
        "'bots' needs an API key with the scope read:data",
    )


def test_admin_implies_the_scope(service: InProcessService) -> None:
    assert look_up(service, key="acme-admin", bots="true").status == 200


def test_other_parameters_and_values_are_refused(service: InProcessService) -> None:
    wrong = look_up(service, bots="yes")
    unknown = look_up(service, bot="true")

    assert (wrong.status, wrong.json["error"]) == (
        400,
        "'bots' is 'yes'; it must be true or false",
    )
    assert "did you mean 'bots'?" in unknown.json["error"]
