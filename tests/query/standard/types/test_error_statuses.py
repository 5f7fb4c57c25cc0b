"""Statuses of groups of errors: open, resolved, ignored, or back after they were resolved."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from tests.oracle.message_pattern import pattern_of
from tests.query.lake import an_error
from tests.query.query_service import InProcessService

DAYS: dict[str, Any] = {"startDate": "2026-11-17", "endDate": "2026-11-30"}
RESOLVED = "2026-11-30T00:53:20Z"
"""The time of the service: what is saved now was resolved then."""
BEFORE, AFTER = "2026-11-20T12:00:00Z", "2026-11-30T00:53:21Z"


def save(
    service: InProcessService, message: str, status: str, website: str = "shop", **more: Any
) -> str:
    """The id of a new status."""
    body = {"message": message, "status": status, **more}
    reply = service.ask("POST", "/v1/error_statuses", body, key="acme-admin", website_id=website)
    assert reply.status == 201, reply.json
    return str(reply.json["data"]["id"])


def changes(service: InProcessService, **options: Any) -> Any:
    return service.rows({"name": "error_changes", **options}, **DAYS)


def statuses(service: InProcessService, **options: Any) -> dict[str, str]:
    return {row["name"]: row["status"] for row in changes(service, **options)}


def test_a_group_is_open_resolved_ignored_or_came_back(service: InProcessService) -> None:
    service.holds(
        *(an_error(message, at=BEFORE) for message in ("open", "done", "noise", "again")),
        *(an_error(message, at=AFTER) for message in ("noise", "again")),
    )
    saved = {
        "done": save(service, "done", "resolved"),
        "noise": save(service, "noise", "ignored"),
        "again": save(service, "again", "resolved"),
    }

    assert statuses(service) == {
        "open": "open",
        "done": "resolved",
        "noise": "ignored",
        "again": "came_back",
    }
    assert {row["name"]: row["status_id"] for row in changes(service)} == {"open": None, **saved}


def test_groups_are_selected_by_status(service: InProcessService) -> None:
    service.holds(
        *(an_error(message, at=BEFORE) for message in ("open", "done", "done", "noise", "again")),
        an_error("again", at=AFTER),
    )
    for message, status in (("done", "resolved"), ("noise", "ignored"), ("again", "resolved")):
        save(service, message, status)

    assert set(statuses(service, status=["open", "came_back"])) == {"open", "again"}
    assert set(statuses(service, status=["ignored"], state="new")) == {"noise"}
    assert statuses(service, status=["ignored"], state="back") == {}
    assert statuses(service, status=[]) == {}
    states = {"name": "error_states", "status": ["resolved", "came_back"]}
    assert service.rows(states, **DAYS) == [{"state": "new", "groups": 2, "errors": 4}]
    assert service.rows("error_states", **DAYS) == [{"state": "new", "groups": 4, "errors": 6}]


@pytest.mark.parametrize("named", ["no order #", "no order 7"])
def test_a_status_is_of_all_messages_of_a_pattern(service: InProcessService, named: str) -> None:
    service.holds(
        *(an_error(f"no order {n}", at=BEFORE, lineno=n) for n in (1, 2)),
        an_error("no order 3", at=BEFORE, error_type="TypeError"),
        an_error("no order of Anna", at=BEFORE),
    )
    save(service, named, "resolved")

    assert statuses(service) == {
        "no order 1": "resolved",
        "no order 2": "resolved",
        "no order 3": "open",  # of another class
        "no order of Anna": "open",
    }
    grouped = changes(service, by="message_pattern", status=["resolved"])
    assert [(row["name"], row["line"]) for row in grouped] == [("no order #", 1), ("no order #", 2)]


def test_the_newest_of_several_records_holds(service: InProcessService) -> None:
    service.holds(an_error("boom", at=BEFORE, error_type="TypeError"))
    first = save(service, "boom", "resolved", errorType="TypeError")
    second = save(service, "boom", "ignored", errorType="TypeError")
    newest = max(first, second)  # of one instant

    [row] = changes(service)
    assert row["status_id"] == newest
    assert row["status"] == ("resolved" if newest == first else "ignored")
    service.ask("DELETE", f"/v1/error_statuses/{newest}", key="acme-admin")
    [row] = changes(service)
    assert row["status_id"] == min(first, second)


def test_a_release_that_is_named_decides_what_came_back(service: InProcessService) -> None:
    releases = {"2.4.0": "2026-11-18", "2.4.1": "2026-11-19", "2.4.2": "2026-11-21"}
    service.holds(
        *(an_error("other", at=f"{day}T12:00:00Z", release=r) for r, day in releases.items()),
        an_error("old", at=BEFORE, release="2.4.0"),
        an_error("old", at=AFTER, release="2.4.0"),  # a page that stayed open
        an_error("old", at=AFTER),  # of no release
        an_error("same", at=BEFORE, release="2.4.1"),
        an_error("later", at="2026-11-21T13:00:00Z", release="2.4.2"),
    )
    for message in ("old", "same", "later"):
        save(service, message, "resolved", release="2.4.1")

    assert statuses(service) == {
        "other": "open",
        "old": "resolved",
        "same": "came_back",
        "later": "came_back",
    }


def test_a_release_without_an_error_begins_when_it_was_named(service: InProcessService) -> None:
    service.holds(
        an_error("old", at=BEFORE, release="2.4.0"),
        an_error("old", at=AFTER, release="2.4.0"),
        an_error("later", at=AFTER, release="2.4.2"),
    )
    for message in ("old", "later"):
        save(service, message, "resolved", release="2.4.1")

    assert statuses(service) == {"old": "resolved", "later": "came_back"}


def test_a_status_is_of_its_own_website(service: InProcessService) -> None:
    service.holds(
        an_error("boom", at=BEFORE),
        an_error("boom", website="blog", at=BEFORE),
        an_error("crash", at=BEFORE),
        an_error("boom", website="rival", at=BEFORE),
    )
    save(service, "boom", "ignored")
    save(service, "crash", "ignored")

    def asked(subject: str, key: str = "acme-admin") -> dict[str, str]:
        reply = service.ask(
            "POST",
            f"/v1/query?website_id={subject}",
            {"parameters": ["error_changes"], **DAYS},
            key=key,
        )
        return {row["name"]: row["status"] for row in reply.json["data"][0]["data"]}

    assert asked("shop") == {"boom": "ignored", "crash": "ignored"}
    assert asked("blog") == {"boom": "open"}
    # Of both websites: what is ignored on one of them happens on the other as well.
    assert asked("shop,blog") == {"boom": "open", "crash": "ignored"}


def test_the_newest_release_of_a_group_is_shown(service: InProcessService) -> None:
    service.holds(
        an_error("boom", at="2026-11-18T12:00:00Z", release="2.4.0"),
        an_error("boom", at="2026-11-19T12:00:00Z", release="2.4.1"),
        an_error("boom", at="2026-11-16T12:00:00Z", release="2.3.9"),  # before the time range
        an_error("bare", at=BEFORE),
    )

    rows = {row["name"]: (row["release"], row["releases"]) for row in changes(service)}
    assert rows == {"boom": ("2.4.1", 2), "bare": (None, 0)}


def test_an_ignored_status_has_no_release(service: InProcessService) -> None:
    body = {"message": "m", "status": "ignored", "release": "2.4.1"}
    reply = service.ask("POST", "/v1/error_statuses", body, key="acme-admin", website_id="shop")

    assert (reply.status, reply.json["error"]) == (
        400,
        "'release' is of 'resolved' errors; give null for ignored ones",
    )


TIMES = ("2026-11-16T08:00:00Z", "2026-11-18T08:00:00Z", BEFORE, RESOLVED, AFTER)
MESSAGES = ("no order 1", "no order 22", "boom", "'; DROP")
KINDS = (None, "TypeError")
RELEASES = (None, "1.0", "1.1", "é 2")


def random_errors(random: Random) -> list[dict[str, Any]]:
    return [
        {
            "message": random.choice(MESSAGES),
            "error_type": random.choice(KINDS),
            "release": random.choice(RELEASES),
            "at": random.choice(TIMES),
        }
        for _ in range(random.randint(1, 25))
    ]


def status_of(
    group: Sequence[dict[str, Any]], errors: Sequence[dict[str, Any]], saved: dict[str, Any] | None
) -> str:
    """The status by its definition; `group` are errors in the time range, `errors` all."""
    if saved is None:
        return "open"
    if saved["status"] == "ignored":
        return "ignored"
    if saved["release"] is None:
        return "came_back" if any(e["at"] > RESOLVED for e in group) else "resolved"
    first_seen = {
        r: min(e["at"] for e in errors if e["release"] == r) for r in {e["release"] for e in errors}
    }
    begin = first_seen.get(saved["release"], RESOLVED)
    bad = [e for e in group if e["release"] is not None and first_seen[e["release"]] >= begin]
    return "came_back" if bad else "resolved"


@pytest.mark.parametrize("seed", range(8))
def test_statuses_agree_with_their_definition(service: InProcessService, seed: int) -> None:
    random = Random(seed)
    errors = random_errors(random)
    service.holds(*(an_error(**error) for error in errors))
    saved: dict[tuple[str, str | None], dict[str, Any]] = {}
    for message in ("no order #", "boom", "'; DROP"):
        for kind in KINDS:
            status = random.choice(("resolved", "resolved", "ignored", None))
            if status is not None:
                release = random.choice(("3.0", *RELEASES)) if status == "resolved" else None
                record: dict[str, Any] = {"status": status, "release": release}
                saved[message, kind] = record
                save(service, message, errorType=kind, **record)

    groups: dict[tuple[str, str | None], list[dict[str, Any]]] = {}
    for error in errors:
        if error["at"] >= "2026-11-17":
            groups.setdefault((error["message"], error["error_type"]), []).append(error)
    assert {(row["name"], row["error_type"]): row["status"] for row in changes(service)} == {
        (message, kind): status_of(group, errors, saved.get((pattern_of(message), kind)))
        for (message, kind), group in groups.items()
    }
