"""CPU of alerts: 1,000 of them over 100 websites, beside the same queries over HTTP."""

import asyncio
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import structs

from query.engine.freshness import FreshnessTracker
from query.engine.table_offsets import TableOffsets
from query.engine.topic_watermarks import Measurement, TopicWatermarks
from query.notify.rules import Alerts
from schemas.kinds import KINDS
from schemas.registry import Alert, Website
from schemas.runtime.settings import Settings
from tests.bench.results import BenchmarkResult, Figure
from tests.query.lake import a_view
from tests.query.query_service import NOW, InProcessService, start_service

WEBSITES, ALERTS_EACH, DAYS = 100, 10, 15
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
EVERY = {"above": ("quarter_hour", 900), "spike": ("hour", 3600), "freshness": ("hour", 60)}
"""Buckets of alerts, and how many seconds they last: a signal is checked every minute."""
BODY = {"metrics": ["page_views"]}
BASELINE_TURNS = 50


def measure() -> BenchmarkResult:
    """CPU of checks, as a share of one core while 1,000 alerts are checked in every bucket."""
    figures = []
    for condition, (_, seconds) in EVERY.items():
        with tempfile.TemporaryDirectory(prefix="tidemark-alerts-") as folder:
            service = start_service(Path(folder))
            _fill(service, condition)
            spent, asked = asyncio.run(_check_once(service, condition)), _ask_over_http(service)
            service.close()
        what = f"{condition}: share of a core, each of 1,000 once in {seconds} s"
        share = spent / seconds * 100
        figures.append(Figure(what, share, "%", expected="≤ 2 %"))
        each = spent / (WEBSITES * ALERTS_EACH) * 1000
        figures.append(Figure(f"{condition}: one check", each, "ms", asked, "one query over HTTP"))
    how = (
        f"{WEBSITES} websites with {ALERTS_EACH} alerts each over page views of {DAYS} days, each "
        "checked for one bucket; CPU of the process, with the writes of their states."
    )
    return BenchmarkResult("Alerts", how, figures)


def _fill(service: InProcessService, condition: str) -> None:
    hour, rows = NOW // HOUR_MS * HOUR_MS, []
    is_signal = condition == "freshness"
    for i in range(WEBSITES):
        site = f"site{i}"
        created_at = NOW - DAYS * DAY_MS
        owned: dict[str, Any] = {
            "organization_id": "acme",
            "created_at": created_at,
            "updated_at": created_at,
        }
        service.store.create(Website(id=site, domain=f"{site}.example", **owned))
        for k in range(ALERTS_EACH):
            service.store.create(
                Alert(
                    id=f"alert_{i}_{k}",
                    website_id=site,
                    name=f"alert {k}",
                    metrics_query=None if is_signal else BODY,
                    signal=condition if is_signal else None,
                    condition="above" if is_signal else condition,
                    threshold=1e9,
                    every=EVERY[condition][0],
                    **owned,
                )
            )
        for step in range(1, DAYS * 8):
            at = datetime.fromtimestamp((hour - step * 3 * HOUR_MS) / 1000, UTC)
            rows.append(a_view("/", website=site, at=f"{at:%Y-%m-%dT%H:%M:%SZ}"))
    service.holds(*rows)
    service.follower.refresh()


async def _check_once(service: InProcessService, condition: str) -> float:
    """CPU seconds of checking all, in the second bucket: the first one warms up."""
    instant = [NOW]
    settings = Settings(data_dir=str(service.data))
    offsets = TableOffsets(settings.lake_url, "", 1)
    watermarks = TopicWatermarks(settings, offsets, lambda: instant[0])
    dependencies = structs.replace(
        service.dependencies,
        clock=lambda: instant[0],
        freshness=FreshnessTracker(watermarks, lambda: instant[0]),
    )
    alerts = Alerts(dependencies, service.store.notices())
    step = EVERY[condition][1] * 1000
    spent = 0.0
    for _ in range(2):
        instant[0] += step
        watermarks.add(Measurement(0, {kind.table.name: instant[0] for kind in KINDS}))
        before = time.process_time()
        checks = await alerts.check_due()
        spent = time.process_time() - before
        assert checks == WEBSITES * ALERTS_EACH, checks
    return spent


def _ask_over_http(service: InProcessService) -> float:
    """CPU milliseconds of the query of an alert as a request, median."""
    body = {**BODY, "startDate": "2026-11-29", "endDate": "2026-11-29"}
    times = []
    for i in range(BASELINE_TURNS):
        before = time.process_time()
        reply = service.ask("POST", "/v1/query/metrics", body, website_id=f"site{i}")
        times.append((time.process_time() - before) * 1000)
        assert reply.status == 200, reply.json
    return statistics.median(times)
