"""Which requests are recorded, and how their spans hang together."""

from collections.abc import Iterator

import pytest

from schemas.runtime.settings import Settings
from schemas.telemetry.opentelemetry_tracer import (
    MAX_CONTINUED,
    MAX_LINKS,
    OpenTelemetryTracer,
    open_tracer,
)
from schemas.telemetry.spans import CURRENT_SPAN, child_span, running
from schemas.telemetry.traceparent import parse, render
from tests.trace_receiver import TraceReceiver

RECORDED = render(7, 8)
UNRECORDED = RECORDED[:-1] + b"0"


OPENED: list[OpenTelemetryTracer] = []


@pytest.fixture(autouse=True)
def close_tracers() -> Iterator[None]:
    """No thread of a tracer runs on beside other tests."""
    yield
    while OPENED:
        OPENED.pop().close(5)


def with_share(share: float) -> OpenTelemetryTracer:
    tracer = open_tracer(
        Settings(traces="http://127.0.0.1:9", traces_share=share), "query", "query-1"
    )
    OPENED.append(tracer)
    return tracer


@pytest.mark.parametrize(
    ("share", "low", "high"), [(0.0, 0, 0), (0.25, 150, 350), (1.0, 1000, 1000)]
)
def test_the_share_of_requests_is_recorded(share: float, low: int, high: int) -> None:
    tracer = with_share(share)

    recorded = sum(tracer.records(None) for _ in range(1000))

    assert low <= recorded <= high


def test_the_caller_decides_for_its_own_trace() -> None:
    assert with_share(0.0).records(RECORDED)
    assert not with_share(1.0).records(UNRECORDED)


def test_an_invalid_header_is_as_none() -> None:
    assert not with_share(0.0).records(b"00-zz")
    assert with_share(1.0).records(b"00-zz")


def test_callers_cannot_have_every_request_recorded() -> None:
    tracer = with_share(0.0)

    recorded = sum(tracer.records(RECORDED) for _ in range(5 * MAX_CONTINUED))

    assert MAX_CONTINUED <= recorded <= 2 * MAX_CONTINUED


def test_a_batch_without_recorded_requests_has_no_span() -> None:
    tracer = with_share(1.0)

    assert tracer.batch("store events", [], []) is None
    assert tracer.batch("store events", [UNRECORDED, b"junk"], [UNRECORDED]) is None


def test_a_batch_links_to_a_bounded_number_of_requests(
    tracer: OpenTelemetryTracer, receiver: TraceReceiver
) -> None:
    requests = [render(7, number) for number in range(1, 100)]
    batch = tracer.batch("store events", [b"junk", RECORDED], requests)
    assert batch is not None

    with running(batch), child_span("commit"):
        pass
    tracer.close(5)

    commit, store = receiver.spans
    assert len(store.links) == len(commit.links) == MAX_LINKS
    assert store.trace == commit.trace == f"{7:032x}"
    assert (store.parent, commit.parent) == (f"{8:016x}", store.id)


def test_the_header_of_a_span_names_it(
    tracer: OpenTelemetryTracer, receiver: TraceReceiver
) -> None:
    span = tracer.request("GET /", RECORDED, {})
    span.count("tidemark.items", 2)
    span.count("tidemark.items", 3)
    ids = parse(span.traceparent)
    span.end()
    tracer.close(5)

    [received] = receiver.spans
    assert ids is not None
    assert (f"{ids.trace:032x}", f"{ids.span:016x}") == (received.trace, received.id)
    assert received.attributes == {"tidemark.items": 5}


def test_a_failure_is_named_by_its_type_and_not_by_its_text(
    tracer: OpenTelemetryTracer, receiver: TraceReceiver
) -> None:
    with (
        pytest.raises(ValueError, match="tm_secret"),
        running(tracer.request("GET /", None, {})),
        child_span("engine"),
    ):
        raise ValueError("tm_secret")
    tracer.close(5)

    assert [span.name for span in receiver.spans] == ["engine", "GET /"]
    assert all(span.failed for span in receiver.spans)
    assert all(span.attributes == {"error.type": "ValueError"} for span in receiver.spans)
    assert b"tm_secret" not in b"".join(receiver.bodies)


def test_without_a_current_span_nothing_is_below_it() -> None:
    with child_span("engine") as span:
        assert span is None
        assert CURRENT_SPAN.get() is None
