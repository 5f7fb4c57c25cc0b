"""A data file is gone, flipped, truncated or empty: only what needs it fails, and says why."""

import asyncio
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from query.engine.damaged_files import DamagedFiles
from query.engine.duckdb_engine import DuckDBEngine, PoolLimits
from query.engine.engine import Sql
from schemas.errors import DataDamaged, Unavailable
from schemas.lake.damage_reports import DamagedFile, DamageReports
from schemas.lake.delta_log import LOG_FOLDER, entry_name
from schemas.lake.delta_table import open_table, read_version
from schemas.tables import EVENTS, VITALS
from tests.accidents import ACCIDENTS, accidents
from tests.query.lake import Lake, a_view, a_vital, an_event
from tests.query.query_service import NOVEMBER, InProcessService, start_service

ENDING = (69_432, 67_216)
"""Bits of the file below that end an instance of DuckDB 2.0, when they are flipped."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessService]:
    """Page views of two days in two files, and a vital."""
    running = start_service(tmp_path_factory.mktemp("service"))
    running.holds(
        a_view("/old", at="2026-11-10T12:00:00Z"), a_view("/old", at="2026-11-10T13:00:00Z")
    )
    running.holds(a_view("/new", at="2026-11-20T12:00:00Z"), a_vital("LCP", 1200))
    shutil.copytree(running.lake.root, running.data / "whole")
    yield running
    running.close()


@pytest.fixture
def service(built: InProcessService) -> InProcessService:
    """The same, with whole files."""
    shutil.copytree(built.data / "whole", built.lake.root, dirs_exist_ok=True)
    damage = DamageReports(built.data)
    for note in damage.files().values():
        damage.clear(note)
    return built


@pytest.fixture
def file(service: InProcessService) -> Path:
    """The file of the tenth."""
    return next(path for path in service.lake.paths(EVENTS) if "2026-11-10" in str(path))


@accidents
def test_a_question_fails_by_table_and_day_when_a_data_file_it_needs_is(
    service: InProcessService, file: Path, accident: str, caplog: pytest.LogCaptureFixture
) -> None:
    ACCIDENTS[accident](file)

    replies = [
        service.query("top_pages"),
        service.query("top_pages"),
        service.custom("events", [{"field": "path", "aggregate": "count", "alias": "n"}]),
        service.ask("GET", "/v1/export/events", website_id="shop", **NOVEMBER),
    ]

    for reply in replies:
        assert (reply.status, reply.json["code"]) == (503, "DATA_DAMAGED"), reply
        assert reply.json["error"] == (
            "A data file of table 'events' with rows received on 2026-11-10 cannot be read, "
            "so the result would be incomplete"
        )
    log_records = [r.__dict__ for r in caplog.records if r.getMessage() == "data file is damaged"]
    assert [(one["table"], one["file"]) for one in log_records] == [
        ("events", f"{file.parent.name}/{file.name}")
    ]


@accidents
def test_questions_that_do_not_need_it_are_answered_when_a_data_file_is(
    service: InProcessService, file: Path, accident: str
) -> None:
    ACCIDENTS[accident](file)

    both = service.query("top_pages", "vitals_overview")
    [later] = service.query("top_pages", startDate="2026-11-20").json["data"]
    other = service.query("top_pages", subject="blog")

    pages, vitals = both.json["data"]
    assert (both.status, pages["success"], vitals["success"]) == (200, False, True)
    assert pages["code"] == "DATA_DAMAGED"
    assert [row["name"] for row in later["data"]] == ["/new"]
    assert other.json["data"][0]["success"]


def test_health_names_the_damage_and_the_service_stays_ready(
    service: InProcessService, file: Path
) -> None:
    well = service.ask("GET", "/health", key=None).json["checks"]["dataFiles"]
    file.unlink()
    service.query("top_pages")

    ill = service.ask("GET", "/health", key=None).json["checks"]["dataFiles"]

    assert (well, ill) == ("ok", "damaged: 1 data file")


def test_a_file_that_is_well_again_is_read_again(service: InProcessService, file: Path) -> None:
    data = file.read_bytes()
    file.unlink()
    refused = service.query("top_pages").status
    file.write_bytes(data)
    damage = DamageReports(service.data)

    for note in damage.files().values():
        damage.clear(note)

    assert refused == 503
    assert {row["name"] for row in service.rows("top_pages")} == {"/old", "/new"}


def test_what_the_keeper_noted_is_never_silently_left_out(
    service: InProcessService, file: Path
) -> None:
    """A flipped bit may give wrong numbers without an error: the scrub alone sees it."""
    path = f"{file.parent.name}/{file.name}"
    DamageReports(service.data).report(DamagedFile("events", path, "holds other bytes", 2), "")

    assert service.query("top_pages").json["code"] == "DATA_DAMAGED"


def test_the_regular_look_reads_the_newest_data_file(service: InProcessService) -> None:
    handle = open_table(str(service.lake.root), EVENTS)
    assert handle is not None
    version = read_version(handle, EVENTS)
    newest = next(Path(part.path) for part in version.data_files if part.day == "2026-11-20")
    newest.write_bytes(newest.read_bytes()[:-1])
    found = DamagedFiles(str(service.lake.root), service.data)

    asyncio.run(found.check_newest(version))

    assert found.summary() == "damaged: 1 data file"


def test_a_damaged_log_fails_its_table_and_no_other(tmp_path: Path) -> None:
    new = start_service(tmp_path)
    new.holds(a_view(at="2026-11-10T12:00:00Z"), a_vital("LCP", 1200))
    new.holds(a_vital("LCP", 900))
    log = new.data / "lake" / VITALS.name / LOG_FOLDER
    whole = (log / entry_name(1)).read_bytes()

    for damage in (b"", whole[:300], None):
        (log / entry_name(1)).unlink()
        if damage is not None:
            (log / entry_name(1)).write_bytes(damage)
        pages, vitals = new.query("top_pages", "vitals_overview").json["data"]

        assert (pages["success"], vitals["success"]) == (True, False)
        assert vitals["code"] == "DATA_DAMAGED"
        assert vitals["error"] == "The log of table 'vitals' is damaged"
        (log / entry_name(1)).write_bytes(whole)
    assert new.rows("vitals_overview")[0]["samples"] == 2


def test_no_flipped_bit_ends_the_engine_for_all_other_questions(tmp_path: Path) -> None:
    """DuckDB gives some damage the answer "database has been invalidated", for ever after."""
    lake = Lake(tmp_path / "lake")
    lake.holds(*(an_event(f"n{i}", at="2026-11-10T12:00:00Z") for i in range(300)))
    [path] = lake.paths(EVENTS)
    duckdb.execute(
        f"COPY (SELECT * FROM read_parquet('{path}', hive_partitioning = false)) "
        f"TO '{path}' (FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd)"
    )
    data = path.read_bytes()
    damaged = DamagedFiles(str(tmp_path / "lake"), tmp_path)
    engine = DuckDBEngine(
        "bits", str(tmp_path / "lake"), tmp_path / "spill", PoolLimits(128, 1), damaged
    )
    chance = random.Random(3)
    seen: set[str] = set()

    async def ask() -> str:
        try:
            await engine.rows(
                Sql("SELECT * FROM read_parquet($parts)", {"parts": [str(path)]}), 10.0
            )
        except Unavailable as refused:
            return type(refused).__name__
        except duckdb.Error as error:
            return type(error).__name__
        return "answered"

    for bit in (*ENDING, *(chance.randrange(8 * len(data)) for _ in range(40))):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        seen.add(asyncio.run(ask()))
        assert asyncio.run(engine.rows(Sql("SELECT 1"), 10.0)) == [(1,)]
        for note in DamageReports(tmp_path).files().values():
            DamageReports(tmp_path).clear(note)
    engine.close()

    assert seen <= {"answered", DataDamaged.__name__}
