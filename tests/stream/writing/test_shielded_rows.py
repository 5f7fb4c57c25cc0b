"""Shields: which rows of a website are dropped, by each kind, and how the ledger counts them."""

from pathlib import Path
from typing import Any

import pytest

from schemas.kinds import CUSTOM_EVENT, WEB_VITAL
from schemas.registry import Shield
from schemas.registry.saved_record_index import SavedRecordIndex
from schemas.tables import EVENTS, LEDGER, VITALS
from stream.enrich.rules.lookups import Lookups
from stream.recovery.ledger_balance import check_balance
from stream.writing.batch_writer import BatchWriter, WriteResult
from tests.stream import builders
from tests.stream.builders import NOON_MS, a_message, an_envelope, rows

LEDGER_COLUMNS = ("received", "stored", "dropped", "drop_reason")


def a_shield(kind: str, value: str, website: str = "w1", at_ms: int = NOON_MS) -> Shield:
    return Shield(
        id=f"shld_{kind}",
        organization_id="o1",
        website_id=website,
        created_at=at_ms,
        updated_at=at_ms,
        name=kind,
        kind=kind,
        value=value,
    )


def lookups(*shields: Shield) -> Lookups:
    saved = SavedRecordIndex().updated((), shields)
    return Lookups(saved=lambda: saved)


def is_dropped(
    folder: Path, shield: Shield, item: dict[str, Any] | None = None, **envelope: Any
) -> bool:
    config = builders.settings(folder)
    batch = [a_message(0, an_envelope([{"name": "a", **(item or {})}], **envelope))]
    return BatchWriter(config, CUSTOM_EVENT, lookups(shield)).write(batch).rows == 0


@pytest.mark.parametrize(
    ("value", "network", "dropped"),
    [
        ("203.0.113.0/24", "203.0.113.0", True),
        ("203.0.0.0/16", "203.0.113.0", True),
        ("203.0.113.0/24", "203.0.114.0", False),
        ("2001:db8:1::/48", "2001:db8:1::", True),
        ("2001:db8:1::/48", "203.0.113.0", False),
        ("203.0.113.0/24", "", False),
    ],
)
def test_an_address_is_in_the_network(
    tmp_path: Path, value: str, network: str, dropped: bool
) -> None:
    assert is_dropped(tmp_path, a_shield("address", value), client_network=network) is dropped


@pytest.mark.parametrize(("names_visitor", "dropped"), [(None, False), (True, True)])
def test_the_address_that_a_server_names_counts_and_not_its_own(
    tmp_path: Path, names_visitor: bool | None, dropped: bool
) -> None:
    shield = a_shield("address", "203.0.113.0/24")
    sent: dict[str, Any] = {
        "client_network": "203.0.113.0",
        "trusted": True,
        "names_visitor": names_visitor,
    }

    assert is_dropped(tmp_path, shield, **sent) is dropped


@pytest.mark.parametrize(
    ("kind", "value", "item", "dropped"),
    [
        ("country", "DE", {"timezone": "Europe/Berlin"}, True),
        ("country", "FR", {"timezone": "Europe/Berlin"}, False),
        ("host", "*.shop.example", {"path": "https://test.shop.example/"}, True),
        ("host", "*.shop.example", {"path": "https://shop.example/"}, False),
        ("host", "shop.example", {"path": "https://test.shop.example/"}, False),
        ("path", "/admin/*", {"path": "https://shop.example/admin/users"}, True),
        ("path", "/admin/*", {"path": "https://shop.example/Admin/users"}, False),
        ("path", "/admin/*", {"path": "https://shop.example/my/admin/users"}, False),
        ("path", "/admin", {"path": "https://shop.example/admin?a=1"}, True),
        ("path", "/a.b", {"path": "https://shop.example/acb"}, False),
        ("referrer", "spam.example", {"referrer": "https://www.spam.example/x"}, True),
        ("referrer", "spam.example", {"referrer": "https://nospam.example/x"}, False),
        ("referrer", "spam*", {"referrer": "https://spam.example/x"}, True),
        ("referrer", "spam.example", {}, False),
    ],
)
def test_facts_are_compared_as_they_are_stored(
    tmp_path: Path, kind: str, value: str, item: dict[str, Any], dropped: bool
) -> None:
    assert is_dropped(tmp_path, a_shield(kind, value), item) is dropped


@pytest.mark.parametrize(
    ("value", "dropped"),
    [("uptimer", True), ("UPTIMER/2*", True), ("up*timer", False), ("Chrome", False)],
)
def test_a_user_agent_contains_a_text_or_fits_a_pattern(
    tmp_path: Path, value: str, dropped: bool
) -> None:
    shield = a_shield("agent", value)

    assert is_dropped(tmp_path, shield, user_agent="Uptimer/2.1 (x)") is dropped


def test_rows_of_a_batch_are_dropped_and_counted_under_their_shield(tmp_path: Path) -> None:
    """Of w1 one row by path and two by host; w2 has other shields, w3 none."""
    config = builders.settings(tmp_path)
    shields = (
        a_shield("path", "/admin*"),
        a_shield("host", "test.example"),
        a_shield("country", "DE", "w2"),
    )
    paths = ["https://a.example/", "https://a.example/admin", "https://test.example/"]
    items = [{"name": str(number), "path": path} for number, path in enumerate(paths)]
    batch = [
        a_message(0, an_envelope([*items, {**items[2], "name": "3"}])),
        a_message(1, an_envelope(items, subject_id="w2"), an_envelope(items, subject_id="w3")),
    ]

    result = BatchWriter(config, CUSTOM_EVENT, lookups(*shields)).write(batch)

    assert result == WriteResult(7, 0, {0: 2})
    assert rows(config, EVENTS, "website_id", "name") == [
        ("w1", "0"),
        *[(website, name) for website in ("w2", "w3") for name in "012"],
    ]
    assert sorted(rows(config, LEDGER, "subject_id", *LEDGER_COLUMNS), key=str) == [
        ("w1", 1, 0, 1, "shield shld_path"),
        ("w1", 1, 1, 0, None),
        ("w1", 2, 0, 2, "shield shld_host"),
        ("w2", 3, 3, 0, None),
        ("w3", 3, 3, 0, None),
    ]
    assert list(check_balance(config)) == []


def test_other_kinds_of_items_are_dropped_as_well(tmp_path: Path) -> None:
    config = builders.settings(tmp_path)
    vital = {"metricName": "LCP", "metricValue": 1}
    items = [{**vital, "path": f"https://a.example/{name}"} for name in ("admin", "shop")]

    writer = BatchWriter(config, WEB_VITAL, lookups(a_shield("path", "/admin")))
    writer.write([a_message(0, an_envelope(items))])

    assert rows(config, VITALS, "path") == [("/shop",)]


def test_what_was_received_before_the_shield_was_saved_is_stored(tmp_path: Path) -> None:
    shield = a_shield("path", "/admin", at_ms=NOON_MS + 1)

    assert not is_dropped(tmp_path, shield, {"path": "https://a.example/admin"})


def test_a_visit_begins_with_its_first_row_that_is_stored(tmp_path: Path) -> None:
    """A shielded row takes no place in deduplication: its id is free for another row."""
    config = builders.settings(tmp_path)
    writer = BatchWriter(config, CUSTOM_EVENT, lookups(a_shield("path", "/admin")))
    of_page = {"name": "a", "eventId": "1", "anonymousId": "v"}

    for offset, path in enumerate(("/admin", "/shop", "/shop")):
        item = {**of_page, "path": f"https://a.example{path}"}
        writer.write([a_message(offset, an_envelope([item]))])

    assert rows(config, EVENTS, "path") == [("/shop",)]
    assert sorted(rows(config, LEDGER, *LEDGER_COLUMNS, "duplicate"), key=str) == [
        (1, 0, 0, None, 1),
        (1, 0, 1, "shield shld_path", 0),
        (1, 1, 0, None, 0),
    ]


class Crash(Exception):
    pass


@pytest.mark.parametrize("step", ["ledger", "write"])
def test_a_batch_that_is_written_again_is_counted_once(tmp_path: Path, step: str) -> None:
    """The second attempt has one more shield, saved after the first: it changes nothing."""
    config = builders.settings(tmp_path)
    paths = [f"https://a.example/{name}" for name in ("admin", "shop")]
    batch = [a_message(0, an_envelope([{"name": "a", "path": path} for path in paths]))]
    first, later = a_shield("path", "/admin"), a_shield("host", "a.example", at_ms=NOON_MS + 1)

    def crash(at: str) -> None:
        if at == step:
            raise Crash

    with pytest.raises(Crash):
        BatchWriter(config, CUSTOM_EVENT, lookups(first), crash).write(batch)
    BatchWriter(config, CUSTOM_EVENT, lookups(first, later)).write(batch)

    assert rows(config, EVENTS, "path") == [("/shop",)]
    assert sorted(rows(config, LEDGER, *LEDGER_COLUMNS), key=str) == [
        (1, 0, 1, "shield shld_path"),
        (1, 1, 0, None),
    ]
    assert list(check_balance(config)) == []


@pytest.mark.parametrize("end", ["", "b"])
def test_a_value_of_many_stars_costs_no_more_than_another(tmp_path: Path, end: str) -> None:
    """With backtracking this text would take hours."""
    shield = a_shield("path", "/" + "*a" * 1000 + end)

    assert is_dropped(tmp_path, shield, {"path": f"/{'a' * 1500}"}) is (end == "")
