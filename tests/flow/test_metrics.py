"""Every process serves its metrics and probes."""

from prometheus_client.parser import text_string_to_metric_families

from deploy.local.process_list import METRICS_PORT, service_specs
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
    items = {"topic": "events", "outcome": "acknowledged"}
    assert change("collector-1", "tidemark_items_total", **items) == 3
    chunks = "tidemark_kafka_acknowledgement_seconds_count"
    assert change("collector-1", chunks, topic=topic) == 1
    stored = {"topic": topic, "outcome": "stored"}
    assert change("worker-1", "tidemark_stored_rows_total", **stored) == 3
    partitions = range(tenant.stack.settings.partitions)
    lags = [
        value(after["worker-1"], "tidemark_lag_messages", topic=topic, partition=str(number))
        for number in partitions
    ]
    assert lags == [0] * len(partitions)
    answered = {"type": "summary", "outcome": "answered"}
    assert change("query-1", "tidemark_query_seconds_count", **answered) >= 1
    tasks = {"task": "compact", "table": "events"}
    assert value(after["keeper"], "tidemark_maintenance_task_seconds_count", **tasks) > 0


def test_every_process_is_live_and_ready(tenant: Tenant) -> None:
    urls = metrics_urls(tenant)

    for path in ("livez", "readyz"):
        assert {name: call("GET", f"{url}/{path}").status for name, url in urls.items()} == (
            dict.fromkeys(urls, 200)
        )
