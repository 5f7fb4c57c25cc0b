"""Every process serves its metrics and probes."""

import re
import time
from collections.abc import Mapping

from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.parser import text_string_to_metric_families

from deploy.docs.grafana_dashboards import DASHBOARDS
from deploy.local.kafka.offsets import topic_lags
from deploy.local.process_list import service_specs
from deploy.local.processes.process import METRICS_PORT
from schemas.runtime.clock import now_ms
from schemas.telemetry import instruments
from tests.deploy.deployment_files import read_yaml
from tests.flow.tenant import Tenant, at_ms
from tests.http_client import call
from tests.installation import eventually

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def metrics_urls(tenant: Tenant) -> dict[str, str]:
    specs = service_specs(tenant.stack.settings)
    return {spec.name: f"http://127.0.0.1:{spec.variables[METRICS_PORT]}" for spec in specs}


def samples(url: str) -> Samples:
    text = call("GET", f"{url}/metrics").body.decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(found: Samples, name: str, **labels: str) -> float:
    return found.get((name, frozenset(labels.items())), 0)


def test_what_was_sent_stored_and_asked_is_counted(tenant: Tenant) -> None:
    urls = metrics_urls(tenant)
    topic = tenant.stack.settings.topic("events")
    partitions = range(tenant.stack.settings.partitions)

    def lags() -> list[float]:
        worker = samples(urls["worker-1"])
        names = ({"topic": topic, "partition": str(number)} for number in partitions)
        return [value(worker, "tidemark_lag_messages", **name) for name in names]

    def all_is_stored() -> bool:
        of_topic = topic_lags(tenant.stack.settings, now_ms()).get(topic)
        return of_topic is not None and of_topic.messages == 0

    eventually(all_is_stored)  # as Kafka and the table have it: metrics of lag are seconds old
    before = {name: samples(url) for name, url in urls.items()}
    view = {"name": "screen_view", "path": "/a", "anonymousId": "a", "timestamp": at_ms("10:00:00")}

    assert tenant.send([view, view, view]).status == 200
    assert tenant.send([{"name": 7}]).status == 400
    eventually(lambda: tenant.rows("summary")[0]["pageviews"] == 3)

    after = {name: samples(url) for name, url in urls.items()}

    def change(process: str, name: str, **labels: str) -> float:
        return value(after[process], name, **labels) - value(before[process], name, **labels)

    requests = "tidemark_http_request_seconds_count"
    assert change("collector-1", requests, route="/track", status="200") == 1
    assert change("collector-1", requests, route="/track", status="400") == 1
    limit = {"limit": "collect", "unit": "requests"}
    assert value(after["collector-1"], "tidemark_limit_used_ratio", **limit) > 0
    items = {"topic": "events", "outcome": "acknowledged"}
    assert change("collector-1", "tidemark_items_total", **items) == 3
    chunks = "tidemark_kafka_acknowledgement_seconds_count"
    assert change("collector-1", chunks, topic=topic) == 1
    stored = {"topic": topic, "outcome": "stored"}
    assert change("worker-1", "tidemark_stored_rows_total", **stored) == 3
    eventually(lambda: lags() == [0] * len(partitions))
    assert change("worker-1", "tidemark_batch_rows_sum", topic=topic) == 3
    commits = {"table": "events", "outcome": "committed"}
    assert change("worker-1", "tidemark_commit_seconds_count", **commits) >= 1
    assert value(after["collector-1"], "tidemark_kafka_available") == 1
    answered = {"type": "summary", "engine": "duckdb", "outcome": "answered"}
    assert change("query-1", "tidemark_query_seconds_count", **answered) >= 1
    tasks = {"task": "compact", "table": "events"}
    assert value(after["keeper"], "tidemark_maintenance_task_seconds_count", **tasks) > 0
    now = time.time()
    eventually(
        lambda: (
            value(samples(urls["query-1"]), "tidemark_watermark_timestamp_seconds", table="events")
            > now - 60
        )
    )
    eventually(lambda: value(samples(urls["keeper"]), "tidemark_table_files", table="events") > 0)


def labels_seen(urls: Mapping[str, str]) -> frozenset[frozenset[tuple[str, str]]]:
    return frozenset(labels for url in urls.values() for _, labels in samples(url))


def test_senders_cannot_add_values_of_labels(tenant: Tenant) -> None:
    """Names of events, paths and websites of requests are in no label."""
    urls = metrics_urls(tenant)
    names = [f"hostile-{number}" for number in range(3)]
    sent = at_ms("10:00:00")
    items = [
        {"name": name, "path": f"/{name}", "anonymousId": name, "timestamp": sent} for name in names
    ]

    assert tenant.send([*items, {"name": 7, "path": "/hostile"}]).status == 200
    for name in names:
        call("GET", f"{tenant.stack.query_url}/{name}")
        call("POST", f"{tenant.stack.collect_url}/{name}", {})
        call("POST", f"{tenant.stack.collect_url}/track?client_id={name}", {"name": name})
        call("POST", f"{tenant.stack.query_url}/v1/query", {"parameters": [name]})
    eventually(lambda: tenant.rows("summary")[0]["total_events"] >= len(names))

    values = {text for labels in labels_seen(urls) for _, text in labels}
    assert not [text for text in values if "hostile" in text]
    rejected = samples(urls["collector-1"])
    assert value(rejected, "tidemark_rejected_items_total", route="/track") >= 1


def families(tenant: Tenant) -> set[str]:
    """Names of the metrics that the processes serve, as they are before labels and suffixes."""
    served = "".join(
        call("GET", f"{url}/metrics").body.decode() for url in metrics_urls(tenant).values()
    )
    return set(re.findall(r"^# TYPE (\S+) ", served, re.MULTILINE))


SELECTOR = re.compile(r"(tidemark_\w+)\{([^}]*)\}")
LABEL = re.compile(r'(\w+)[=!]~?"')
TARGET_LABELS = {"instance", "job"}
"""Labels that Prometheus adds."""


def declared_labels() -> dict[str, set[str]]:
    """Labels of the metrics that have no sample before something happened."""
    return {
        family.name: set(metric._labelnames)
        for metric in vars(instruments).values()
        if isinstance(metric, MetricWrapperBase)
        for family in metric.describe()
    }


def labels_by_metric(tenant: Tenant) -> dict[str, set[str]]:
    """Names of metrics, without suffixes, and of their labels: of a running installation."""
    found = declared_labels()
    for url in metrics_urls(tenant).values():
        text = call("GET", f"{url}/metrics").body.decode()
        for family in text_string_to_metric_families(text):
            names = found.setdefault(family.name, set())
            names.update(*(sample.labels for sample in family.samples))
    return found


def test_the_alert_rules_name_metrics_and_labels_that_exist(tenant: Tenant) -> None:
    labels = labels_by_metric(tenant)
    for group in read_yaml("helm/tidemark/monitoring/alerts.yaml")["groups"]:
        for rule in group["rules"]:
            named = {
                re.sub("_(count|total)$", "", name)
                for name in re.findall(r"tidemark_\w+", rule["expr"])
            }
            assert named <= labels.keys() or rule["alert"] == "TidemarkProcessDown", rule["alert"]
            known = TARGET_LABELS.union(*(labels[name] for name in named))
            used = {
                name
                for _, inside in SELECTOR.findall(rule["expr"])
                for name in LABEL.findall(inside)
            }
            for inside in re.findall(r"(?:by|on) \(([^)]*)\)", rule["expr"]):
                used.update(inside.split(", "))
            used.update(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
            assert used <= known, rule["alert"]


def test_every_process_tells_whether_it_is_ready_and_what_its_disk_has_left(tenant: Tenant) -> None:
    for name, url in metrics_urls(tenant).items():
        found = samples(url)
        assert value(found, "tidemark_ready") == 1
        assert value(found, "tidemark_disk_free_bytes") > 0
        if name.partition("-")[0] in ("collector", "worker", "query"):
            assert found[("tidemark_registry_stale_seconds", frozenset())] == 0


def test_the_dashboards_name_metrics_that_exist(tenant: Tenant) -> None:
    expressions = [
        expression
        for panels in DASHBOARDS.values()
        for panel in panels
        for expression in panel.queries.values()
    ]

    named = {name for text in expressions for name in re.findall(r"(?:tidemark|process)_\w+", text)}

    assert len(named) > 20
    assert {re.sub("_(count|bucket)$", "", name) for name in named} <= families(tenant)


def test_every_process_is_live_and_ready(tenant: Tenant) -> None:
    urls = metrics_urls(tenant)

    for path in ("livez", "readyz"):
        assert {name: call("GET", f"{url}/{path}").status for name, url in urls.items()} == (
            dict.fromkeys(urls, 200)
        )
