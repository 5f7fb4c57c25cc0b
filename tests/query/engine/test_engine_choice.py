"""Small queries stay on DuckDB; those that may read many bytes go to the distributed engine."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from query.engine.engine_choice import bytes_to_read
from query.engine.snapshots import PinnedVersion
from schemas.lake.delta_table import DataFile, TableVersion
from schemas.tables import EVENTS
from tests.query.engine.trino.coordinator import Coordinator, coordinator
from tests.query.lake import a_view
from tests.query.query_service import NOVEMBER, InProcessService, start_service

COUNT = {"field": "*", "aggregate": "count", "alias": "n"}


class Hours(Struct, frozen=True):
    """A period of some hours after the start of Unix time."""

    first: int
    end: int

    @property
    def start_ms(self) -> int:
        return self.first * 3_600_000

    @property
    def end_ms(self) -> int:
        return self.end * 3_600_000


def file_of(path: str, size: int, first: int, last: int, website: str) -> DataFile:
    """A file with rows of one website in those hours."""
    hours = (first * 3_600_000, last * 3_600_000)
    return DataFile(path, "1970-01-01", 1, size, hours, (website, website), None)


FILES = (
    file_of("a", 1, 0, 1, "shop"),
    file_of("b", 10, 2, 3, "shop"),
    file_of("c", 100, 2, 3, "blog"),
)
PINNED = PinnedVersion(TableVersion(EVENTS, 1, FILES), 0)


@pytest.mark.parametrize(
    ("subjects", "periods", "expected"),
    [
        (["shop"], [Hours(0, 4)], 11),
        (["shop"], [Hours(0, 1)], 1),
        (["shop", "blog"], [Hours(2, 4)], 110),
        (["shop"], [Hours(0, 4), Hours(2, 4)], 11),
        (["other"], [Hours(0, 4)], 0),
    ],
)
def test_files_that_may_hold_the_rows_count_once(
    subjects: list[str], periods: list[Hours], expected: int
) -> None:
    assert bytes_to_read([PINNED, PINNED], subjects, periods) == expected


@pytest.fixture
def played() -> Iterator[Coordinator]:
    with coordinator() as running:
        yield running


def service_of(root: Path, played: Coordinator, megabytes: int) -> InProcessService:
    service = start_service(root, engine=played.address, engine_mb=megabytes)
    service.holds(a_view("/"))
    return service


def ask_everything(service: InProcessService) -> None:
    """One query of each endpoint."""
    assert service.query("top_pages").json["data"][0]["success"]
    assert service.custom("events", [COUNT]).status == 200
    metrics = {"metrics": ["visitors"], **NOVEMBER}
    assert service.ask("POST", "/v1/query/metrics", metrics, website_id="shop").status == 200
    about = {"website_id": "shop", "format": "csv", **NOVEMBER}
    assert service.ask("GET", "/v1/export/events", **about).status == 200


def test_small_queries_stay_on_duckdb(tmp_path: Path, played: Coordinator) -> None:
    ask_everything(service_of(tmp_path, played, megabytes=1))

    assert played.statements == []


def test_large_queries_of_every_endpoint_go_to_trino(tmp_path: Path, played: Coordinator) -> None:
    ask_everything(service_of(tmp_path, played, megabytes=0))

    assert len(played.statements) == 4
    assert all("FROM events FOR VERSION AS OF" in text for text in played.statements)
    tags = {headers["X-Trino-Client-Tags"] for headers in played.headers}
    assert tags == {"organization:acme"}


def test_the_compiled_statement_is_that_of_the_engine(tmp_path: Path) -> None:
    page = {"columns": [{"name": "_col0", "type": "bigint"}], "data": [[1]]}
    with coordinator(page) as played:
        service = service_of(tmp_path, played, megabytes=0)
        body = {"query": {"table": "events", "selects": [COUNT]}, **NOVEMBER}
        reply = service.ask("POST", "/v1/query/compile", body, website_id="shop")

    assert reply.status == 200
    assert "FOR VERSION AS OF" in reply.json["sql"]
    assert reply.json["engine"] == "trino"


@pytest.mark.parametrize(("megabytes", "name"), [(0, "trino"), (1, "duckdb")])
def test_a_response_names_its_engine(
    tmp_path: Path, played: Coordinator, megabytes: int, name: str
) -> None:
    service = service_of(tmp_path, played, megabytes)

    assert service.query("top_pages").json["data"][0]["meta"]["engine"] == name
    assert service.custom("events", [COUNT]).json["meta"]["engine"] == name
    metrics = {"metrics": ["visitors"], **NOVEMBER}
    reply = service.ask("POST", "/v1/query/metrics", metrics, website_id="shop")
    assert reply.json["meta"]["engine"] == name


def test_one_engine_is_not_named(tmp_path: Path) -> None:
    service = start_service(tmp_path)
    service.holds(a_view("/"))

    assert "engine" not in service.custom("events", [COUNT]).json["meta"]
