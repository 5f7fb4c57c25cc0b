"""Ranges that cut quarters of an hour: prepared results of them are those of the stored rows."""

from datetime import timedelta

import pytest

from query.prepared import kept_indexes
from query.request.time_range import Granularity
from tests.oracle.fixed_traffic import fixed_traffic
from tests.oracle.random_traffic import Stage
from tests.oracle.service import Service, body_of, named
from tests.oracle.test_prepared_results import CLOSED, asked, prepare

TIMES = (
    ("00:07:13", "23:52:41"),
    ("11:59:59.999", "12:30:00.001"),
    ("08:45:00", "20:01:00"),
)
"""Of the first day, and of the last."""


@pytest.mark.parametrize("few_parts", [0, 12])
@pytest.mark.parametrize("stage", CLOSED[:2], ids=lambda stage: f"{stage.zone} {stage.day}")
def test_prepared_results_are_those_of_the_stored_rows(
    stage: Stage, few_parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_indexes, "FEW_PARTS", few_parts)
    with Service(fixed_traffic(stage), portions=2) as service:
        queries = asked(stage, (Granularity.DAILY, Granularity.HOURLY))
        service.results(queries)
        prepare(service)
        prepared = []
        for query in (each for each in queries if each.start == stage.day - timedelta(days=2)):
            for first, last in TIMES:
                body = {
                    **body_of(query, [named(query)]),
                    "startDate": f"{query.start} {first}",
                    "endDate": f"{query.end} {last}",
                }
                both = [
                    service.post("/v1/query", body, "shop", more).json["data"][0]
                    for more in ("", "&prepared=false")
                ]
                assert both[0]["data"] == both[1]["data"], (query, first, last)
                prepared.append(both[0]["meta"].get("prepared", False))
        assert sum(prepared) > len(prepared) / 2
