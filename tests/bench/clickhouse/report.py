"""Measurements beside ClickHouse as tables of RESULTS.md: one for each size, and one of growth."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.clickhouse.measurement import (
    REPEATED,
    Cost,
    Measurement,
    QuestionCosts,
    measured,
    turns,
)
from tests.bench.clickhouse.one_website import make
from tests.bench.prepared_results import OTHER_DAYS
from tests.bench.results import SideBySide

COLUMNS = (
    "prepared, repeated",
    "prepared, other ranges",
    "stored rows",
    "plain DuckDB",
    "ClickHouse",
    "CPU, stored rows",
    "CPU, plain DuckDB",
    "CPU, ClickHouse",
)


def measure(folder: Path | None, sizes: Sequence[int]) -> Sequence[SideBySide]:
    """All tables for these numbers of events; with a folder, the data sets are kept there."""
    with TemporaryDirectory(prefix="tidemark-clickhouse-") as temporary:
        measurements = []
        for events in sizes:
            made = Path(folder or temporary, f"one-{events}")
            made.mkdir(parents=True, exist_ok=True)
            measurements.append(measured(make(made, events)))
        return list(sections(measurements))


def sections(measurements: Sequence[Measurement]) -> Iterator[SideBySide]:
    """All tables; a table of growth for several sizes."""
    for measurement in measurements:
        yield side_by_side(measurement)
    if len(measurements) > 1:
        yield growth(measurements)


def side_by_side(measurement: Measurement) -> SideBySide:
    """Each question, a column for each engine."""
    how = (
        f"{measurement.events:,} events of one website in 30 days; milliseconds, 2 threads each, "
        f"load {measurement.load_average:.1f}. Ours over HTTP: from prepared results, the same "
        f"range repeated (median of {REPEATED}) and {len(OTHER_DAYS)} other ranges once; "
        "from stored rows (`?prepared=false`). Plain DuckDB, once: the same files and SQL; "
        "ClickHouse has the same rows in a MergeTree table and SQL of its own; for both the time "
        f"inside the engine. Median of {turns(measurement.events)}, in turns. All results "
        "are compared value by value. CPU is of all threads."
    )
    rows = [(each.name, cells(each)) for each in measurement.questions]
    return SideBySide(f"ClickHouse, {measurement.events:,} events", how, COLUMNS, rows)


def cells(costs: QuestionCosts) -> list[float | None]:
    """The values of COLUMNS."""
    engines = (costs.stored, costs.plain, costs.clickhouse)
    times = [milliseconds(each) for each in (costs.repeated, costs.other, *engines)]
    return [*times, *(each.cpu_ms if each else None for each in engines)]


def growth(measurements: Sequence[Measurement]) -> SideBySide:
    """Each figure, a column for each number of events."""
    ordered = sorted(measurements, key=lambda each: each.events)
    columns = [f"{each.events:,} events" for each in ordered]
    loads = ", ".join(f"{each.load_average:.1f}" for each in ordered)
    how = f"The same queries by number of events; loads {loads}."
    made = zip(*(figures(each) for each in ordered), strict=True)
    rows = [(row[0][0], [value for _, value in row]) for row in made]
    return SideBySide("Growth beside ClickHouse", how, columns, rows)


def figures(measurement: Measurement) -> Iterator[tuple[str, float | None]]:
    """The figures of a size, by name; the same names for every size."""
    for each in measurement.questions:
        yield f"{each.name}: prepared, other ranges, ms", milliseconds(each.other)
        yield f"{each.name}: stored rows, ms", milliseconds(each.stored)
        yield f"{each.name}: ClickHouse, ms", each.clickhouse.ms
    asked = measurement.questions
    yield "all: prepared, repeated, ms", total([each.repeated for each in asked])
    yield "all: prepared, other ranges, ms", total([each.other for each in asked])
    yield (
        "all with prepared results: ClickHouse, ms",
        total([each.clickhouse for each in asked if each.other is not None]),
    )
    yield "all: stored rows, ms", total([each.stored for each in asked])
    yield "all: plain DuckDB, ms", total([each.plain for each in asked])
    yield "all: ClickHouse, ms", total([each.clickhouse for each in asked])
    yield "summary, first after a restart: prepared, ms", measurement.first_ms
    yield "making prepared results: CPU, µs per event", measurement.parts_cpu_us
    yield "prepared results: bytes per event", measurement.parts_bytes
    yield "lake: bytes per event", measurement.bytes_on_disk
    yield "ClickHouse: bytes per event", measurement.loaded.bytes_on_disk
    yield "ClickHouse, loading and merging: CPU, µs per event", measurement.loaded.cpu_us
    yield "query service: peak memory, MiB", measurement.peak_mib
    yield "ClickHouse: peak memory, MiB", measurement.clickhouse_peak_mib


def milliseconds(cost: Cost | None) -> float | None:
    """The time of a cost, if there is one."""
    return None if cost is None else cost.ms


def total(costs: Sequence[Cost | None]) -> float:
    """The time of all that there are."""
    return sum(cost.ms for cost in costs if cost is not None)
