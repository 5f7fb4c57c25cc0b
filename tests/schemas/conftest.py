"""A receiver of traces, and a tracer that sends to it."""

from collections.abc import Iterator

import pytest

from schemas.runtime.settings import Settings
from schemas.telemetry.opentelemetry_tracer import OpenTelemetryTracer, open_tracer
from tests.trace_receiver import TraceReceiver


@pytest.fixture
def receiver() -> Iterator[TraceReceiver]:
    with TraceReceiver() as running:
        yield running


@pytest.fixture
def tracer(receiver: TraceReceiver) -> Iterator[OpenTelemetryTracer]:
    """Closed afterwards: its thread, which uses `random`, must not run beside other tests."""
    opened = open_tracer(Settings(traces=receiver.url), "collector", "collector-1")
    yield opened
    opened.close(5)
