"""`make conformance`: DuckDB and Trino (coordinator and worker) answer alike, over an object store.

Every query type, custom and metrics queries, exports, value by value; then what Trino must do
beside that. Differences are printed by group; the exit code is 1 when there are any.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from msgspec import json

from query.app import QueryService
from query.engine.trino.address import parse_address
from query.engine.trino.register import register_tables
from schemas.kinds import ALL_KINDS
from schemas.runtime.settings import Settings
from schemas.tables import Table
from stream.maintenance.compaction import compact
from stream.maintenance.merge_plan import live_data_files
from stream.storage.delta_commit import LakeTable
from tests.conformance import checks
from tests.conformance.difference import difference
from tests.conformance.questions import Question, questions
from tests.conformance.services import answer, open_service
from tests.conformance.trino_server import TrinoServer
from tests.oracle.fixed_traffic import fixed_traffic
from tests.oracle.random_traffic import STAGES, Stage
from tests.oracle.service import registry
from tests.query.lake import Lake
from tests.s3.server import S3Server

PORTIONS = 3
"""Commits of each table, so that there are several versions."""
ERASURE_STEP = 3
"""Every third question is asked again while erasures are pending."""
SHOWN = 2
"""Differences of a group that are printed."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="make conformance")
    parser.add_argument("--stage", type=int, default=0, help="which day, zone and clock change")
    parser.add_argument("--variants", type=int, default=2, help="queries of each query type")
    parser.add_argument("--queries", type=int, default=200, help="custom and metrics queries")
    asked = parser.parse_args()
    stage = STAGES[asked.stage]
    with (
        tempfile.TemporaryDirectory(prefix="conformance-") as name,
        S3Server(_made(Path(name) / "s3"), lenient=True) as store,
    ):
        os.environ |= dict(store.environment)
        _fill(store, stage, Path(name) / "keeper")
        with TrinoServer(_made(Path(name) / "trino"), store.environment) as server:
            _register(server, store)
            duckdb = open_service(Path(name) / "duckdb", store.url)
            trino = open_service(Path(name) / "client", store.url, engine=server.address)
            asking = list(questions(stage, asked.variants, asked.queries))
            failed = compare(duckdb, trino, asking) + check(server, duckdb, trino, asking)
            for service in (duckdb, trino):
                service.close()
    registry().close()
    sys.exit(1 if failed else 0)


def compare(duckdb: QueryService, trino: QueryService, asking: list[Question]) -> int:
    """Ask both, print what differs, and give the number of differences."""
    asked: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    began = time.monotonic()
    for question in asking:
        found = difference(answer(duckdb, question), answer(trino, question))
        asked[question.group] += 1
        if found is not None:
            failed[question.group] += 1
            if failed[question.group] <= SHOWN:
                body = json.encode(question.body).decode()
                print(f"{question.group}: {found}\n    {question.path} {question.subject} {body}")
    seconds = time.monotonic() - began
    for group, count in failed.items():
        print(f"{group}: {count} of {asked[group]} differ")
    equal = asked.total() - failed.total()
    print(f"{equal} of {asked.total()} answers are the same, in {seconds:.0f} s")
    return failed.total()


def check(
    server: TrinoServer, duckdb: QueryService, trino: QueryService, asking: list[Question]
) -> int:
    """Print the outcome of each check, and give the number of those that failed."""
    outcomes = {
        "only the worker reads data files": checks.only_the_worker_reads(server),
        "old versions are read": checks.old_versions_are_read(duckdb, trino),
        "erased rows are hidden": checks.erased_rows_are_hidden(
            duckdb, trino, asking[::ERASURE_STEP]
        ),
        "a query beyond its limit ends": checks.a_query_beyond_its_limit_ends(server),
        "a query of a caller that is gone ends": checks.a_query_of_a_caller_that_is_gone_ends(
            server
        ),
        "organizations have groups of their own": (
            checks.organizations_have_groups_of_their_own(server, trino)
        ),
        "the death of a worker is survived": (
            checks.the_death_of_a_worker_is_survived(server, duckdb, trino)
        ),
        "a server that is gone is an error of the contract": (
            checks.a_server_that_is_gone_is_an_error_of_the_contract(server, trino)
        ),
    }
    for name, problem in outcomes.items():
        print(f"{name}: {problem or 'yes'}")
    return sum(problem is not None for problem in outcomes.values())


def _register(server: TrinoServer, store: S3Server) -> None:
    """Register the tables; a second time changes nothing."""
    tables = _tables()
    names = [table.name for table in tables]
    for _ in range(2):
        new, known = asyncio.run(register_tables(parse_address(server.address), tables, store.url))
        assert [*new, *known] == names, (new, known)
    assert known == names


def _fill(store: S3Server, stage: Stage, folder: Path) -> None:
    """Rows in files of which the keeper has merged all but those of the last commits."""
    lake, stored = Lake(store.objects), fixed_traffic(stage)
    *earlier, last = (stored[first::PORTIONS] for first in range(PORTIONS))
    for rows in earlier:
        lake.holds(*rows)
    settings = Settings(data_dir=str(folder), lake=store.url, small_parts=len(earlier))
    for table in _tables():
        lake_table = LakeTable(settings, table)
        before = len(live_data_files(lake_table.handle, table))
        compact(lake_table, settings)
        assert len(live_data_files(lake_table.handle, table)) < before, table.name
    lake.holds(*last)


def _tables() -> list[Table]:
    return list(dict.fromkeys(kind.table for kind in ALL_KINDS))


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


if __name__ == "__main__":
    main()
