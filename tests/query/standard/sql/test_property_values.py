"""Values of properties: one statement for several types, with the rows of each one's own SQL."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from query.engine.duckdb_engine import DuckDBEngine
from query.engine.engine import Row, Sql
from query.standard.sql.property_values import MAX_FEW_VALUES, RankedValue, properties
from tests.query.lake import Stored, a_view, an_event
from tests.query.prepared.test_prepared_results import TODAY, prepare
from tests.query.query_service import NOVEMBER, InProcessService, start_service

TYPES = (
    "custom_events_property_top_values",
    "custom_events_property_distribution",
    "custom_events_discovery",
    "custom_events_property_classification",
)
VALUES = {
    "flag": (True, False, "TRUE", "false"),
    "number": (1, -2.5, "3e2", 10**39, "0x1"),
    "day": ("2026-11-10", "2026-11-10T00:00:00Z"),
    "link": ("https://a.example/", "http://b.example/", "HTTP://c.example/"),
    "text": ("é", "É", "", "a" * 600, "a" * 700, "😀", "Z", "z"),
    "": ("no key", None),
}


def some_events(seed: int, count: int = 160) -> list[Stored]:
    """Events with properties of each kind, some of many values, and events without any."""
    chance = Random(seed)
    rows = [an_event("plain", properties=None), an_event("plain", visitor=None), a_view("/")]
    for i in range(count):
        kept = {key: chance.choice(own) for key, own in VALUES.items() if chance.random() < 0.5}
        kept["few"] = i % MAX_FEW_VALUES
        kept["many"] = f"v{i % (MAX_FEW_VALUES + 1)}"
        kept["id"] = i if chance.random() < 0.9 else "none"
        visitor, session = f"u{i % 7}", f"s{i % 9}"
        text = json.dumps(kept, ensure_ascii=False)
        name = chance.choice(("buy", "Buy", "köp"))
        rows.append(an_event(name, properties=text, visitor=visitor, session=session))
    return rows


def entry(service: InProcessService, name: str, prepared: str = "true", **more: Any) -> Any:
    body = {"parameters": [name], **NOVEMBER, **more}
    [found] = service.ask("POST", "/v1/query", body, website_id="shop", prepared=prepared).json[
        "data"
    ]
    assert found["success"], found
    return found


def expect_equal(service: InProcessService, name: str, **more: Any) -> bool:
    """Whether the rows are prepared; they are those of the stored rows."""
    found, stored = (entry(service, name, each, **more) for each in ("true", "false"))
    assert found["data"] == stored["data"], more
    assert found["meta"]["totalRows"] == stored["meta"]["totalRows"]
    return bool(found["meta"].get("prepared", False))


@pytest.mark.parametrize("name", TYPES)
def test_rows_are_those_of_the_own_statement(service: InProcessService, name: str) -> None:
    service.holds(*some_events(1))
    assert not expect_equal(service, name)
    prepare(service)

    assert expect_equal(service, name)
    assert expect_equal(service, name, limit=7, page=3)
    for field in ("property_key", "unique_values", "count", "cardinality"):
        for direction in ("asc", "desc"):
            if field in entry(service, name)["data"][0]:
                order = [{"field": field, "direction": direction}]
                assert expect_equal(service, name, limit=9, page=2, orderBy=order)
    is_buy = [{"field": "name", "operator": "eq", "value": "buy"}]
    assert not expect_equal(service, name, filters=is_buy)
    without_channel = [{"field": "visit.channel", "operator": "is_null"}]
    assert expect_equal(service, name, filters=without_channel)
    service.holds(an_event("late", at=TODAY, properties='{"k": 1}'))
    assert expect_equal(service, name)
    assert not expect_equal(service, name, startDate="2026-11-11")  # that of today alone
    assert expect_equal(service, name, endDate="2026-11-02")


def test_the_second_type_runs_no_statement(
    service: InProcessService, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.holds(*some_events(2))
    entry(service, TYPES[0])
    prepare(service)
    ran: list[Sql] = []
    rows = DuckDBEngine.rows

    async def counted(self: DuckDBEngine, sql: Sql, seconds: float) -> list[Row]:
        ran.append(sql)
        return await rows(self, sql, seconds)

    monkeypatch.setattr(DuckDBEngine, "rows", counted)
    for name in TYPES:
        assert entry(service, name)["meta"]["prepared"]
        assert len(ran) == 1


def test_very_many_properties_are_left_to_the_own_statement(tmp_path: Path) -> None:
    service = start_service(tmp_path, answer_bytes=65_536)
    keys = {f"key {i} {'x' * 200}": "y" * 500 for i in range(400)}
    service.holds(an_event("buy", properties=json.dumps(keys)))
    entry(service, TYPES[0], limit=5)
    prepare(service)

    assert not expect_equal(service, TYPES[0], limit=5)
    service.close()


def test_values_are_grouped_by_event_and_property() -> None:
    rows = [("a", "k", 1), ("a", "k", 2), ("a", "l", 1), ("b", "k", 1)]

    found = properties([(*row, "text", *[0] * 9) for row in rows])

    assert {event: [[v.rank for v in own] for own in keys] for event, keys in found.items()} == {
        "a": [[1, 2], [1]],
        "b": [[1]],
    }
    assert found["b"][0] == [RankedValue("b", "k", 1, "text", *[0] * 9)]
