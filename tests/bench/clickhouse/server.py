"""ClickHouse as a process of its own, with the rows of a data set in its table."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tests.bench.clickhouse.one_website import LakeFiles
from tests.bench.clickhouse.table import TABLE_SIZE, load_table
from tests.installation import ROOT

PYTHON = ROOT / ".venv" / "clickhouse" / "bin" / "python"
PROGRAM = Path(__file__).parent / "process.py"
THREADS = 2
SETTINGS = (f"SET max_threads = {THREADS}", "SET date_time_output_format = 'iso'")


class ClickHouseError(Exception):
    """It refused a statement, or is not installed."""


class ClickHouseResult(Struct, frozen=True, rename="camel"):
    """Rows and cost of a statement."""

    ms: float
    cpu_ms: float
    """CPU time of all its threads."""
    columns: list[dict[str, str]]
    """The `name` and `type` of each."""
    rows: list[list[Any]]
    peak_kib: int
    """The most memory that the process has had until then."""

    @property
    def records(self) -> list[dict[str, Any]]:
        """The rows by the names of their columns."""
        names = [column["name"] for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]


class ClickHouse:
    """A running process; one statement at a time."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def execute(self, statement: str) -> ClickHouseResult:
        """Raises ClickHouseError when it is refused, or when the process has ended."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin
        assert stdout
        stdin.write(json.dumps(statement) + "\n")
        stdin.flush()
        answer = json.loads(stdout.readline() or '{"error": "the process has ended"}')
        if "error" in answer:
            raise ClickHouseError(f"{answer['error']}\n{statement}")
        return msgspec.convert(answer, ClickHouseResult)


@contextmanager
def clickhouse(folder: Path) -> Iterator[ClickHouse]:
    """A process with its tables in that folder."""
    if not PYTHON.exists():
        raise ClickHouseError("ClickHouse is not installed; `make test` does it")
    with subprocess.Popen(
        [PYTHON, PROGRAM, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        running = ClickHouse(process)
        for setting in SETTINGS:
            running.execute(setting)
        yield running  # then its input ends, and it with it


class LoadCost(Struct, frozen=True):
    """Cost of loading the rows into the table, per event."""

    cpu_us: float
    bytes_on_disk: float


def load(running: ClickHouse, data_set: LakeFiles) -> LoadCost:
    """Fill the table and merge its parts; all rows of the lake are in it."""
    spent = sum(running.execute(step).cpu_ms for step in load_table(data_set))
    [size] = running.execute(TABLE_SIZE).records
    assert size["row_count"] == data_set.events, size
    return LoadCost(spent * 1000 / data_set.events, size["bytes"] / data_set.events)
