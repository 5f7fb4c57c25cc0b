"""`python -m tests.bench [PART …]`: measures, prints, and keeps the figures in RESULTS.md."""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.bench import (
    alerts,
    collector,
    dashboard,
    erasure,
    flood,
    footprint,
    freshness,
    growth_queries,
    growth_workers,
    isolation,
    many_websites,
    one_by_one,
    prepared_results,
    queries,
    receipts,
    redirect,
    running_day,
    scale,
    under_attack,
    visit_facts,
    worker,
)
from tests.bench.clickhouse import report as clickhouse
from tests.bench.dataset import MANY, stored
from tests.bench.results import BenchmarkResult, Section, save

PARTS: Mapping[str, Callable[[], BenchmarkResult]] = {
    "collector": collector.measure,
    "worker": worker.measure,
    "single": one_by_one.measure,
    "freshness": freshness.measure,
    "footprint": footprint.measure,
    "questions": queries.measure,
    "facts": visit_facts.measure,
    "prepared": prepared_results.measure,
    "today": running_day.measure,
    "dashboard": dashboard.measure,
    "isolation": isolation.measure,
    "websites": many_websites.measure,
    "receipts": receipts.measure,
    "redirect": redirect.measure,
    "hostile": under_attack.measure,
    "flood": flood.measure,
    "erasure": erasure.measure,
    "alerts": alerts.measure,
}
GROWTH = "growth"
SCALE = "scale"
CLICKHOUSE = "clickhouse"
NAMES = (*PARTS, GROWTH, SCALE, CLICKHOUSE)


def main() -> None:
    """Measure what is named, or everything but what first takes long to make."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(NAMES))
    parser.add_argument(
        "--data", type=Path, help=f"folder of the data sets of '{SCALE}', '{CLICKHOUSE}'; kept"
    )
    parser.add_argument("--events", type=int, default=MANY, help="of the website, when it is made")
    parser.add_argument(
        "--millions", type=int, nargs="+", default=[1, 10], help=f"sizes of '{CLICKHOUSE}'"
    )
    options = parser.parse_args()
    if strange := set(options.parts) - {*NAMES}:
        parser.error(f"no such part: {', '.join(strange)}; there are {', '.join(NAMES)}")
    for name in options.parts or usual(options.data):
        print(f"{name}: measuring", flush=True)
        began = time.monotonic()
        sections = measured(name, options)
        save(sections)
        text = "\n".join(section.text() for section in sections)
        print(f"\n{text}\n{name}: {time.monotonic() - began:.0f} s\n", flush=True)


def measured(name: str, options: argparse.Namespace) -> Sequence[Section]:
    """The sections of a part."""
    if name == SCALE:
        return [scale.measure(options.data, options.events)]
    if name == GROWTH:
        return [growth_workers.measure(), growth_queries.measure()]
    if name == CLICKHOUSE:
        return clickhouse.measure(options.data, [n * 1_000_000 for n in options.millions])
    return [PARTS[name]()]


def usual(data: Path | None) -> list[str]:
    """All parts, with `scale` only when its data set is there."""
    if data is not None and stored(data) is not None:
        return [*PARTS, GROWTH, SCALE]
    print(
        f"Without '{SCALE}': its 30 million events take some ten minutes to make. To measure it,\n"
        f'  make bench ARGS="{SCALE} --data FOLDER"\n'
        "makes them in FOLDER once, and finds them there the next time.\n"
        f"Without '{CLICKHOUSE}', which installs it first (900 MB):\n"
        f'  make bench ARGS="{CLICKHOUSE}"\n'
    )
    return [*PARTS, GROWTH]


if __name__ == "__main__":
    main()
