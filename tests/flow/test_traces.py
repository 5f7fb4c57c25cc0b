"""Traces of a running installation: from post to commit, from query to engine, and without one."""

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import pytest

from tests.conftest import free_metrics_port
from tests.flow.tenant import CHROME_USER_AGENT, DAY, Tenant, at_ms
from tests.http_client import Reply, call
from tests.installation import Installation, eventually
from tests.trace_receiver import ReceivedSpan, TraceReceiver

TABLES = ("events", "ledger")
"""Tables that a batch of valid items commits to."""


@pytest.fixture(scope="module")
def receiver() -> Iterator[TraceReceiver]:
    with TraceReceiver() as running:
        yield running


@pytest.fixture(scope="module")
def stack(
    tmp_path_factory: pytest.TempPathFactory, receiver: TraceReceiver
) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("traced")
    ports = {"metrics_port": free_metrics_port()}
    with Installation(folder, traces=receiver.url, partitions=1, **ports) as stack:
        yield stack


def new_traceparent() -> tuple[str, str]:
    """A trace id, and the header of a caller that records it."""
    trace = secrets.token_hex(16)
    return trace, f"00-{trace}-{secrets.token_hex(8)}-01"


def view(path: str) -> dict[str, object]:
    at = at_ms("10:00:00")
    return {"name": "screen_view", "path": path, "anonymousId": "visitor-7", "timestamp": at}


def post(tenant: Tenant, items: Sequence[object], **headers: str) -> Reply:
    url = f"{tenant.stack.collect_url}/track?website_id={tenant.website.id}"
    return call("POST", url, items, {"user-agent": CHROME_USER_AGENT, **headers})


def ask(tenant: Tenant, parameters: object, **headers: str) -> Reply:
    body = {
        "parameters": parameters,
        "startDate": str(DAY),
        "endDate": str(DAY),
        "filters": [{"field": "path", "operator": "eq", "value": "/secret-page"}],
    }
    url = f"{tenant.stack.query_url}/v1/query?website_id={tenant.website.id}"
    return call("POST", url, body, {"x-api-key": tenant.key, **headers})


def spans_of(
    receiver: TraceReceiver, trace: str, complete: Callable[[Sequence[ReceivedSpan]], bool]
) -> list[ReceivedSpan]:
    """The spans of a trace, once they are complete."""

    def found() -> list[ReceivedSpan]:
        spans = [span for span in list(receiver.spans) if span.trace == trace]
        return spans if complete(spans) else []

    return eventually(found)


def named(spans: Sequence[ReceivedSpan], name: str) -> ReceivedSpan:
    [span] = [span for span in spans if span.name == name]
    return span


def has_commit(spans: Sequence[ReceivedSpan]) -> bool:
    """Whether both processes have sent theirs: the worker may be the first."""
    kinds = {span.name.split()[0] for span in spans}
    return kinds >= {"POST", "store"}


def has_request(spans: Sequence[ReceivedSpan]) -> bool:
    """Whether the collector has sent its spans."""
    return any(span.name == "POST /track" for span in spans)


def test_one_trace_from_post_to_commit(tenant: Tenant, receiver: TraceReceiver) -> None:
    trace, header = new_traceparent()

    reply = post(tenant, [view("/a"), view("/b")], traceparent=header)

    assert reply.status == 200
    spans = spans_of(receiver, trace, has_commit)
    topic = tenant.stack.settings.topic("events")
    request = named(spans, "POST /track")
    assert request.parent == header.split("-")[2]
    assert request.service == "tidemark-collector"
    assert request.attributes == {
        "http.request.method": "POST",
        "http.route": "/track",
        "http.response.status_code": 200,
        "tidemark.items": 2,
        "tidemark.request_id": reply.headers["x-request-id"],
    }
    produce = named(spans, "produce")
    assert produce.parent == request.id
    assert produce.links == [request.link]
    assert produce.attributes["messaging.destination.name"] == topic
    assert produce.attributes["tidemark.outcome"] == "acknowledged"
    assert produce.attributes["messaging.kafka.offset"] >= 0
    store = named(spans, f"store {topic}")
    assert store.service == "tidemark-worker"
    assert store.parent == produce.id
    assert store.links == [request.link]
    assert store.attributes["tidemark.rows"] == store.attributes["tidemark.items"] == 2
    commits = [span for span in spans if span.name == "commit"]
    assert sorted(span.attributes["tidemark.table"] for span in commits) == sorted(TABLES)
    assert {span.parent for span in commits} == {store.id}
    assert all(span.links == [request.link] for span in commits)
    assert not [span for span in spans if span.failed]


def test_a_batch_links_to_every_request_that_it_holds(
    tenant: Tenant, receiver: TraceReceiver
) -> None:
    traces = [new_traceparent() for _ in range(3)]
    for number, (_, header) in enumerate(traces):
        assert post(tenant, [view(f"/{number}")], traceparent=header).status == 200

    requests = [
        named(spans_of(receiver, trace, has_request), "POST /track").link for trace, _ in traces
    ]

    def linked() -> bool:
        stores = [span for span in list(receiver.spans) if span.name.startswith("store")]
        return set(requests) <= {link for span in stores for link in span.links}

    eventually(linked)


def test_one_trace_from_query_to_engine(tenant: Tenant, receiver: TraceReceiver) -> None:
    assert post(tenant, [view("/secret-page")]).status == 200
    eventually(lambda: tenant.rows("summary")[0]["pageviews"] == 1)
    trace, header = new_traceparent()

    assert ask(tenant, ["summary", "top_pages"], traceparent=header).status == 200

    spans = spans_of(
        receiver, trace, lambda spans: any(span.name == "POST /v1/query" for span in spans)
    )
    request = named(spans, "POST /v1/query")
    assert request.service == "tidemark-query"
    assert named(spans, "snapshot").parent == request.id
    queries = {
        span.attributes["tidemark.query.type"]: span for span in spans if span.name == "query"
    }
    assert set(queries) == {"summary", "top_pages"}
    for query in queries.values():
        assert query.parent == request.id
        below = [span for span in spans if span.parent == query.id]
        assert {"statement", "engine"} == {span.name for span in below}
        engine = next(span for span in below if span.name == "engine")
        assert engine.attributes["db.system.name"] == "duckdb"
        assert engine.attributes["tidemark.rows"] == 1
        assert engine.attributes["tidemark.data_files"] >= 1
        assert engine.attributes["tidemark.read_bytes.most"] > 0


def test_a_caller_that_does_not_record_is_not_recorded(
    tenant: Tenant, receiver: TraceReceiver
) -> None:
    trace, header = new_traceparent()
    other, recorded = new_traceparent()

    assert post(tenant, [view("/x")], traceparent=header[:-1] + "0").status == 200
    assert post(tenant, [view("/y")], traceparent=recorded).status == 200

    spans_of(receiver, other, has_commit)
    assert not [span for span in receiver.spans if span.trace == trace]


def test_nothing_secret_is_in_a_span(tenant: Tenant, receiver: TraceReceiver) -> None:
    trace, header = new_traceparent()
    asked, header_of_query = new_traceparent()
    post(tenant, [view("/secret-page")], traceparent=header, **{"x-api-key": tenant.key})
    post(tenant, [{"name": 7}], traceparent=header)
    ask(tenant, ["top_pages"], traceparent=header_of_query)
    ask(tenant, ["secret-type"], traceparent=header_of_query)
    spans_of(receiver, trace, has_commit)
    spans_of(receiver, asked, lambda spans: len(spans) > 1)

    sent = b"".join(receiver.bodies)
    words = (
        tenant.key, tenant.website.id, tenant.organization.id, "visitor-7", "secret", "127.0.0",
        "SELECT", CHROME_USER_AGENT,
    )  # fmt: skip
    assert b"POST /track" in sent
    assert [word for word in words if word.encode() in sent] == []


def spans_counted(tenant: Tenant, outcome: str) -> float:
    """Spans of the collector with this outcome."""
    text = call("GET", f"http://127.0.0.1:{collector_port(tenant)}/metrics").body.decode()
    name = f'tidemark_spans_total{{outcome="{outcome}"}} '
    return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if name in line)


def collector_port(tenant: Tenant) -> int:
    first = tenant.stack.settings.metrics_port
    for port in range(first, first + 8):
        text = call("GET", f"http://127.0.0.1:{port}/metrics").body.decode()
        if 'process="collector-1"' in text:
            return port
    raise AssertionError("no metrics of the collector")


def slowest(tenant: Tenant, requests: int) -> float:
    """The longest of these posts, which all succeed, in seconds."""
    instants = [time.perf_counter()]
    for number in range(requests):
        assert post(tenant, [view(f"/{number}")]).status == 200
        instants.append(time.perf_counter())
    return max(later - earlier for earlier, later in pairwise(instants))


@pytest.mark.parametrize("failure", ["stop", "pause"])
def test_a_receiver_that_fails_or_hangs_breaks_nothing(
    tenant: Tenant, receiver: TraceReceiver, failure: str
) -> None:
    before = spans_counted(tenant, "failed")
    getattr(receiver, failure)()
    try:
        longest = slowest(tenant, 30)
        eventually(lambda: tenant.rows("summary")[0]["pageviews"] == 30)
        eventually(lambda: spans_counted(tenant, "failed") > before, 60)
    finally:
        receiver.resume() if failure == "pause" else receiver.start()

    assert longest < 2.0
    trace, header = new_traceparent()
    assert post(tenant, [view("/again")], traceparent=header).status == 200
    spans_of(receiver, trace, has_commit)
