"""Traces: from post to commit, and from query to engine. Off unless `TIDEMARK_TRACES` is set.

This module imports no OpenTelemetry: only `opentelemetry_tracer.py` knows the library, and it is
imported when traces are on.
"""

from importlib.util import find_spec

from schemas.runtime.environment import InvalidSetting
from schemas.runtime.settings import Settings
from schemas.telemetry.spans import Tracer, Traces

MISSING_PACKAGES = (
    "TIDEMARK_TRACES is set, and the packages of traces are not installed: run `make traces`, or "
    "install those of deploy/locks/traces.txt"
)
CLOSE_SECONDS = 2.0
PACKAGES = ("opentelemetry", "opentelemetry.sdk", "opentelemetry.exporter")


def check_packages(settings: Settings) -> None:
    """InvalidSetting when the settings want traces and the packages are not there."""
    if settings.traces and not all(map(find_spec, PACKAGES)):
        raise InvalidSetting(MISSING_PACKAGES)


def start_traces(settings: Settings, service: str, process: str) -> Tracer | None:
    """Begin to record, if the settings say so; InvalidSetting without the packages."""
    check_packages(settings)
    if settings.traces:
        from schemas.telemetry.opentelemetry_tracer import open_tracer

        Traces.tracer = open_tracer(settings, service, process)
    return Traces.tracer


def close_traces() -> None:
    """Send what is queued, in bounded time."""
    if Traces.tracer is not None:
        Traces.tracer.close(CLOSE_SECONDS)
