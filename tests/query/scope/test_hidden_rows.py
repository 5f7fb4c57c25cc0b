"""Rows of an erasure that is pending are in no answer: as if they had never been stored."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from query.prepared.rebuild import rebuild
from query.standard.query_types import QUERY_TYPES
from schemas.registry import Erasure, ErasureState, Selector
from schemas.runtime.settings import Settings
from tests.query.engine.trino.coordinator import coordinator
from tests.query.export.export_requests import exported
from tests.query.lake import (
    Stored,
    a_click,
    a_view,
    a_vital,
    an_engagement,
    an_error,
    an_event,
    an_identity,
)
from tests.query.query_service import NOVEMBER, NOW, InProcessService, start_service

HERS: dict[str, Any] = {"visitor": "her", "session": "her-session"}
COUNT = {"field": "*", "aggregate": "count", "alias": "n"}
MANY = tuple(f"somebody-{number}" for number in range(150))


def others() -> Sequence[Stored]:
    return (
        a_view("/", at="2026-11-10T09:00:00Z", profile_id="p1"),
        a_view("/shop", at="2026-11-10T09:00:20Z"),
        an_event("buy", at="2026-11-10T09:01:00Z", properties='{"total":5}'),
        a_view("/", at="2026-11-11T09:00:00Z", visitor="u2", session="s2"),
        a_vital("LCP", 1200),
        an_error("TypeError"),
        an_engagement("/"),
        an_identity("p1", visitor="u1"),
        a_view("/blog", website="blog", **HERS),
        a_click(),
    )


def hers() -> Sequence[Stored]:
    return (
        a_view("/", at="2026-11-10T10:00:00Z", country="IS", **HERS),
        a_view("/secret", at="2026-11-10T10:00:40Z", country="IS", **HERS),
        an_event("buy", at="2026-11-10T10:01:00Z", properties='{"total":7}', **HERS),
        a_vital("LCP", 9000, **HERS),
        an_error("HerError", **HERS),
        an_engagement("/secret", **HERS),
        an_identity("p2", visitor="her", traits='{"plan":"pro"}'),
    )


def erase(service: InProcessService, *values: str, **more: Any) -> None:
    record = Erasure(
        id="er1",
        organization_id="acme",
        selector=Selector(values[0].partition(":")[0]),
        value_hashes=(),
        erased_values=values,
        created_at=NOW,
        updated_at=NOW,
        **{"website_id": "shop", **more},
    )
    service.store.create(record)
    service.follower.refresh()


@pytest.fixture(scope="module")
def without_her(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    service = start_service(tmp_path_factory.mktemp("without"))
    service.holds(*others())
    return service


@pytest.fixture(scope="module")
def hiding_her(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    service = start_service(tmp_path_factory.mktemp("hiding"))
    service.holds(*others(), *hers())
    erase(service, "visitor:her", *(f"visitor:{name}" for name in MANY))
    return service


REQUIRED = {
    "anonymous_id": {"field": "anonymous_id", "operator": "in", "value": ["her", "u1"]},
    "session_id": {"field": "session_id", "operator": "in", "value": ["her-session", "s1"]},
}


@pytest.mark.parametrize("name", QUERY_TYPES)
def test_a_query_type_gives_what_it_gives_without_her(
    name: str, without_her: InProcessService, hiding_her: InProcessService
) -> None:
    subject = "link:go" if QUERY_TYPES[name].subject.value == "link_id" else "shop"
    filters = [REQUIRED[field] for field in QUERY_TYPES[name].required_filters if field in REQUIRED]

    data = [
        service.query(name, subject=subject, filters=filters).json["data"]
        for service in (without_her, hiding_her)
    ]

    assert data[0] == data[1]


@pytest.mark.parametrize("name", ["summary_metrics", "visitors", "sessions", "profile_list"])
def test_profiles_and_facts_of_visits_and_of_visitors_are_without_her(
    name: str, without_her: InProcessService, hiding_her: InProcessService
) -> None:
    filters = [{"field": "visitor.first_seen", "operator": "gte", "value": "2026-11-01"}]
    asked: dict[str, Any] = {"filters": filters, "person": "profile"}

    data = [s.query(name, **asked).json for s in (without_her, hiding_her)]

    assert data[0].get("data") == data[1].get("data")


@pytest.mark.parametrize("table", ["events", "vitals", "errors", "engagement", "identities"])
def test_exports_and_custom_queries_are_without_her(
    table: str, without_her: InProcessService, hiding_her: InProcessService
) -> None:
    services = without_her, hiding_her
    counts = [s.custom(table, [COUNT]).json for s in services]
    files = [exported(s, table).body for s in services]

    assert counts[0]["data"] == counts[1]["data"]
    assert files[0] == files[1]
    assert b"her-session" not in files[1]


def test_metrics_are_without_her(
    without_her: InProcessService, hiding_her: InProcessService
) -> None:
    body = {"metrics": ["visitors", "visits", "bounce_rate"], "dimensions": ["country"], **NOVEMBER}
    replies = [
        service.ask("POST", "/v1/query/metrics", body, website_id="shop")
        for service in (without_her, hiding_her)
    ]

    assert replies[0].status == 200
    assert replies[0].json["data"] == replies[1].json["data"]


def test_several_websites_hide_the_rows_of_one(hiding_her: InProcessService) -> None:
    [row] = hiding_her.rows("summary_metrics", subject="shop,blog")

    assert (row["pageviews"], row["unique_visitors"]) == (4, 3)  # of the blog she is not erased


@pytest.mark.parametrize(
    ("values", "more", "views", "events"),
    [
        (("session:her-session",), {}, 3, 4),
        (("profile:p1",), {}, 4, 6),
        (("device:u1",), {}, 4, 5),  # her view that names profile p1 stays
        (("property:7",), {"property_name": "total"}, 5, 6),
        (("visitor:her",), {"website_id": None}, 3, 4),
        (("visitor:her",), {"website_id": "blog"}, 5, 7),
        (("visitor:her",), {"website_id": None, "link_id": "go"}, 5, 7),
        (("visitor:her",), {"state": ErasureState.REWRITTEN}, 5, 7),
    ],
)
def test_each_erasure_hides_what_it_names(
    tmp_path: Path, values: tuple[str, ...], more: dict[str, Any], views: int, events: int
) -> None:
    service = start_service(tmp_path)
    service.holds(*others(), *hers())
    erase(service, *values, **more)

    assert service.rows("summary_metrics")[0]["pageviews"] == views
    assert [row["n"] for row in service.custom("events", [COUNT]).json["data"]] == [events]


def test_rollups_which_have_her_are_not_used_while_the_erasure_is_pending(tmp_path: Path) -> None:
    service = start_service(tmp_path)
    service.holds(*others(), *hers())
    options = Settings(data_dir=str(service.data))
    asyncio.run(rebuild(options, ["shop"], lambda *_: None, lambda: NOW))

    def summary() -> tuple[int, bool]:
        [entry] = service.query("summary_metrics").json["data"]
        return entry["data"][0]["pageviews"], entry["meta"].get("prepared", False)

    before = summary()
    erase(service, "visitor:her")
    pending = summary()
    service.store.update(Erasure, "er1", NOW, state=ErasureState.REWRITTEN)
    service.follower.refresh()

    assert (before, pending, summary()[1]) == ((5, True), (3, False), True)


def test_an_older_version_hides_her_until_its_files_are_deleted(tmp_path: Path) -> None:
    service = start_service(tmp_path)
    service.holds(*others(), *hers())
    version = service.query("summary_metrics").json["meta"]["versions"]["events"]
    service.holds(a_view("/later", at="2026-11-13T09:00:00Z"))
    erase(service, "visitor:her", state=ErasureState.REWRITTEN)

    def views(**more: Any) -> int:
        return int(service.rows("summary_metrics", **more)[0]["pageviews"])

    assert (views(asOf=version), views()) == (3, 6)


def test_statements_for_trino_hide_the_same_rows(tmp_path: Path) -> None:
    with coordinator() as trino:
        service = start_service(tmp_path, engine=trino.address, engine_mb=0)
        service.holds(*others(), *hers())
        erase(service, "visitor:her", "device:hers", "session:s9")
        names = [name for name, each in QUERY_TYPES.items() if each.subject.value == "website_id"]
        for name in names:
            fields = QUERY_TYPES[name].required_filters
            service.query(name, filters=[REQUIRED[field] for field in fields if field in REQUIRED])
        service.custom("events", [COUNT])
        service.ask(
            "POST", "/v1/query/metrics", {"metrics": ["visits"], **NOVEMBER}, website_id="shop"
        )
        exported(service, "events")
        statements = list(trino.statements)

    hers_is_hidden = "(website_id='shop'AND(anonymous_idIN('her')))ISDISTINCTFROMTRUE"
    assert len(statements) >= len(names)
    for statement in statements:
        text = "".join(statement.split())
        relations = re.findall(r"FROM(events|errors|engagement|identities|vitals)FORVERSION", text)
        assert text.count(hers_is_hidden) >= len(relations), statement
