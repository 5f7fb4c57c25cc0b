"""When prepared results may answer a query, and when the stored rows are read."""

import time
from pathlib import Path

import pytest

from query.prepared import text_filters
from query.prepared.rollup_union import RollupUnion
from tests.query.prepared.test_prepared_results import ask, prepare, stored
from tests.query.query_service import InProcessService, start_service


def test_a_custom_query_that_takes_too_long_is_a_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = start_service(tmp_path, query_seconds=1)
    stored(service)
    count = [{"field": "*", "aggregate": "count"}]
    rows = service.custom("events", count, groupBy=["country"]).json["data"]
    prepare(service)
    found = service.custom("events", count, groupBy=["country"])
    assert (found.json["data"], found.json["meta"]["prepared"]) == (rows, True)

    monkeypatch.setattr(RollupUnion, "rows", lambda *_: time.sleep(3))
    slow = service.custom("events", count, groupBy=["city"])

    assert (slow.status, slow.json["code"]) == (503, "QUERY_TIMEOUT")


def test_many_conditions_on_many_texts_read_the_rows(
    service: InProcessService, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(service)
    ask(service)
    prepare(service)
    count = [{"field": "*", "aggregate": "count"}]
    condition = {"field": "country", "operator": "ne", "value": "DE"}

    for limit, is_prepared in ((1, False), (4, True)):
        monkeypatch.setattr(text_filters, "MAX_EVALUATIONS", limit)
        for filters in ([condition, condition], [{"and": [condition, condition]}]):
            meta = service.custom("events", count, filters=filters).json["meta"]
            assert ("prepared" in meta) == is_prepared


def test_other_filters_bots_and_persons_read_the_rows(service: InProcessService) -> None:
    stored(service)
    ask(service)
    prepare(service)

    for more in (
        {"filters": [{"field": "session_id", "operator": "is_null"}]},
        {"include_bots": True},
        {"person": "profile"},
    ):
        assert ask(service, **more)[0] == [False] * 4, more
    assert ask(service, granularity="minute", startDate="2026-11-30")[0][1] is False
