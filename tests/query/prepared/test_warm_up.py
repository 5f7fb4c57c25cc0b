"""Queries that were asked before their rollups are run again when these are made."""

import asyncio
from pathlib import Path

import pytest

from query.prepared import index_store, warm_up
from tests.query.lake import a_view
from tests.query.query_service import InProcessService, start_service


def holds_views(service: InProcessService) -> None:
    service.lake.holds(
        *(a_view(f"/{i % 3}", visitor=f"u{i % 4}", session=f"s{i % 5}") for i in range(9))
    )


def indexes(service: InProcessService) -> list[Path]:
    index_store.WRITER.submit(lambda: None).result()  # what is written behind queries
    return sorted(Path(service.data, "prepared").rglob("*.index"))


def prepare(service: InProcessService) -> None:
    """What the service does in the background, once."""
    assert service.results is not None
    asyncio.run(service.results.make_pending())
    assert not indexes(service)
    asyncio.run(service.results.run_waiting())


@pytest.fixture(autouse=True)
def _every_index_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_store, "LEAST_SECONDS", 0)
    monkeypatch.setattr(index_store, "FEW_ROLLUPS", 0)


def test_what_was_asked_is_joined_before_it_is_asked_again(service: InProcessService) -> None:
    holds_views(service)
    rows = service.rows("summary")

    prepare(service)

    made = indexes(service)
    assert made
    [entry] = service.query("summary").json["data"]
    assert (entry["data"], entry["meta"]["prepared"]) == (rows, True)
    assert indexes(service) == made


def test_a_query_whose_parts_are_damaged_stops_nothing(service: InProcessService) -> None:
    holds_views(service)
    service.query("summary", "country")
    results = service.results
    assert results is not None
    asyncio.run(results.make_pending())
    for rollup in Path(service.data, "prepared").rglob("*.parquet"):
        rollup.write_bytes(b"")

    asyncio.run(results.run_waiting())

    assert service.query("summary").json["data"][0]["success"]


def test_the_newest_queries_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_up, "MAX_WAITING", 1)
    service = start_service(tmp_path)
    holds_views(service)
    service.query("summary")
    service.query("top_pages")
    service.query("top_pages")

    prepare(service)

    service.query("top_pages")
    assert (before := indexes(service))
    service.query("summary")
    assert indexes(service) != before
