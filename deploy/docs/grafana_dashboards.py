"""Generates the Grafana dashboards of the chart and the compose file (`make docs`).

A panel is a title, a unit of Grafana and PromQL by legend. Every expression holds for any number of
processes and machines; `$__rate_interval` is Grafana's own.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

FOLDER = Path(__file__).parents[1] / "helm" / "tidemark" / "monitoring"
SOURCE = {"type": "prometheus", "uid": "${source}"}
WIDTH, HEIGHT, COLUMNS = 12, 8, 24


class Panel(Struct, frozen=True):
    """A time series panel: PromQL by legend."""

    title: str
    unit: str
    queries: Mapping[str, str]


def rate(metric: str, by: str, where: str = "") -> str:
    """The rate per second of a counter, by labels."""
    return f"sum by ({by}) (rate({metric}{{{where}}}[$__rate_interval]))"


def quantile(share: float, metric: str, by: str, where: str = "") -> str:
    """A quantile of a histogram, by labels."""
    buckets = f"sum by (le, {by}) (rate({metric}_bucket{{{where}}}[$__rate_interval]))"
    return f"histogram_quantile({share}, {buckets})"


def percentiles(metric: str, by: str) -> Mapping[str, str]:
    """Median and 99th percentile of a histogram."""
    return {
        f"p50 {{{{{by}}}}}": quantile(0.5, metric, by),
        f"p99 {{{{{by}}}}}": quantile(0.99, metric, by),
    }


LIMITS = (
    Panel(
        "Rate limits in use, of the tenant nearest to them",
        "percentunit",
        {"{{limit}} {{unit}}": "max by (limit, unit) (tidemark_limit_used_ratio) > 0"},
    ),
    Panel(
        "Requests that a rate limit rejected per second",
        "reqps",
        {"{{limit}}": rate("tidemark_limited_requests_total", "limit")},
    ),
)
"""Rejections of both services that count requests; `GET /v1/limits` names the tenant."""

DASHBOARDS: Mapping[str, Sequence[Panel]] = {
    "ingest": (
        Panel(
            "Items per second",
            "cps",
            {"{{topic}} {{outcome}}": rate("tidemark_items_total", "topic, outcome")},
        ),
        Panel(
            "Invalid items per second",
            "cps",
            {"{{route}}": rate("tidemark_rejected_items_total", "route")},
        ),
        Panel(
            "Responses per second",
            "reqps",
            {"{{route}} {{status}}": rate("tidemark_http_request_seconds_count", "route, status")},
        ),
        Panel("Response time", "s", percentiles("tidemark_http_request_seconds", "route")),
        Panel(
            "Acknowledgement by Kafka",
            "s",
            percentiles("tidemark_kafka_acknowledgement_seconds", "topic"),
        ),
        Panel("Size of chunks", "bytes", percentiles("tidemark_chunk_bytes", "topic")),
        Panel("Bytes in flight", "bytes", {"{{instance}}": "tidemark_in_flight_bytes"}),
        Panel(
            "Kafka",
            "none",
            {
                "reachable {{instance}}": "tidemark_kafka_available",
                "partitions that reject {{instance}}": "tidemark_rejecting_partitions",
                "producers replaced {{instance}}": "tidemark_producers_replaced",
            },
        ),
        Panel("Spool", "bytes", {"{{instance}}": "tidemark_spool_bytes"}),
        *LIMITS,
    ),
    "stream": (
        Panel("Lag", "s", {"{{topic}}": "max by (topic) (tidemark_lag_seconds)"}),
        Panel(
            "Messages not stored", "short", {"{{topic}}": "sum by (topic) (tidemark_lag_messages)"}
        ),
        Panel(
            "Age of the tables",
            "s",
            {"{{table}}": "time() - max by (table) (tidemark_watermark_timestamp_seconds > 0)"},
        ),
        Panel(
            "Rows per second",
            "cps",
            {"{{topic}} {{outcome}}": rate("tidemark_stored_rows_total", "topic, outcome")},
        ),
        Panel("Time of a batch", "s", percentiles("tidemark_batch_seconds", "topic")),
        Panel("Rows of a batch", "short", percentiles("tidemark_batch_rows", "topic")),
        Panel("Time of a commit", "s", percentiles("tidemark_commit_seconds", "table")),
        Panel(
            "Commits per second",
            "cps",
            {"{{table}} {{outcome}}": rate("tidemark_commit_seconds_count", "table, outcome")},
        ),
        Panel(
            "Quarantined and dropped items per second",
            "cps",
            {
                "{{topic}} {{stage}}": rate("tidemark_quarantined_items_total", "topic, stage"),
                "dropped: {{reason}}": rate("tidemark_dropped_items_total", "reason"),
            },
        ),
        Panel("Data files", "short", {"{{table}}": "max by (table) (tidemark_table_files)"}),
        Panel(
            "Maintenance",
            "s",
            {"p99 {{task}}": quantile(0.99, "tidemark_maintenance_task_seconds", "task")},
        ),
        Panel(
            "Failed maintenance tasks per second",
            "cps",
            {"{{task}} {{table}}": rate("tidemark_maintenance_task_failures_total", "task, table")},
        ),
    ),
    "query": (
        Panel(
            "Queries per second",
            "reqps",
            {"{{engine}} {{outcome}}": rate("tidemark_query_seconds_count", "engine, outcome")},
        ),
        Panel("Time of a query", "s", percentiles("tidemark_query_seconds", "engine")),
        Panel(
            "Slowest query types (p99)",
            "s",
            {"{{type}}": f"topk(10, {quantile(0.99, 'tidemark_query_seconds', 'type')})"},
        ),
        Panel("Response time", "s", percentiles("tidemark_http_request_seconds", "route")),
        Panel(
            "Data files from the local cache",
            "percentunit",
            {
                "hits": 'sum(rate(tidemark_cached_file_reads_total{outcome="hit"}'
                "[$__rate_interval])) / sum(rate(tidemark_cached_file_reads_total"
                "[$__rate_interval]))"
            },
        ),
        Panel(
            "Answers from prepared results",
            "percentunit",
            {
                "prepared": 'sum(rate(tidemark_prepared_answers_total{source="prepared"}'
                "[$__rate_interval])) / sum(rate(tidemark_prepared_answers_total"
                "[$__rate_interval]))"
            },
        ),
        Panel(
            "Files with prepared visits",
            "cps",
            {"{{source}}": rate("tidemark_visit_sources_total", "source")},
        ),
        *LIMITS,
        Panel(
            "Exchanges of rate-limit counts that failed",
            "cps",
            {"{{counts}}": rate("tidemark_limit_failures_total", "counts")},
        ),
        Panel("Memory", "bytes", {"{{instance}}": "process_resident_memory_bytes"}),
        Panel(
            "CPU",
            "percentunit",
            {"{{instance}}": "rate(process_cpu_seconds_total[$__rate_interval])"},
        ),
    ),
}


def dashboard_text(name: str) -> str:
    """The JSON of one dashboard."""
    dashboard = {
        "uid": f"tidemark-{name}",
        "title": f"Tidemark: {name}",
        "tags": ["tidemark"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {
            "list": [
                {
                    "name": "source",
                    "label": "Prometheus",
                    "type": "datasource",
                    "query": "prometheus",
                }
            ]
        },
        "panels": [_panel(number, panel) for number, panel in enumerate(DASHBOARDS[name])],
    }
    return json.dumps(dashboard, indent=1) + "\n"


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    per_row = COLUMNS // WIDTH
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": SOURCE,
        "gridPos": {
            "x": number % per_row * WIDTH,
            "y": number // per_row * HEIGHT,
            "w": WIDTH,
            "h": HEIGHT,
        },
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {
            "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull"]}
        },
        "targets": [
            {"refId": chr(ord("A") + at), "expr": expression, "legendFormat": legend}
            for at, (legend, expression) in enumerate(panel.queries.items())
        ],
    }


def main() -> None:
    for name in DASHBOARDS:
        (FOLDER / f"dashboard-{name}.json").write_text(dashboard_text(name))
    print(f"dashboards: {', '.join(DASHBOARDS)}")


if __name__ == "__main__":
    main()
