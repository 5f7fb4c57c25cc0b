"""TelemetryServer: metrics and health checks of one process, on a port of its own.

It runs in a thread, so that it answers for a process whose event loop or main thread hangs. Several
collectors share the port of events: there the kernel would choose which one is asked.
"""

import errno
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import msgspec
from prometheus_client import (
    CollectorRegistry,
    Gauge,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    make_wsgi_app,
)
from prometheus_client.registry import Collector

from schemas.http.health import HEALTH_PATHS, Health, heartbeat_health
from schemas.runtime.settings import Settings
from schemas.telemetry.instruments import REGISTRY
from schemas.telemetry.process_gauges import add_process_gauges
from schemas.telemetry.unserved_metrics import UnservedMetrics, remove_unserved, write_unserved

log = logging.getLogger(__name__)

LIVE_PATHS = ("/livez", "/health/live")
PROBE_PATHS = ("/livez", "/readyz", *HEALTH_PATHS)

RETRY_SECONDS = 2.0
"""How often a port that is in use is tried again."""

HealthSource = Callable[[], Health]
PortReport = Callable[[OSError | None], None]
"""Is told why the port cannot be opened, and with None that it is open."""
StartResponse = Callable[[str, list[tuple[str, str]]], Any]


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _SilentHandler(WSGIRequestHandler):
    timeout = 10
    """Seconds for a request; a client that sends nothing occupies a thread no longer."""

    def log_message(self, format: str, *args: Any) -> None:
        """Write no access log."""


class TelemetryServer:
    """Serves until the process ends."""

    def __init__(self, health: HealthSource, registry: CollectorRegistry = REGISTRY) -> None:
        self._health = health
        self._metrics = make_wsgi_app(registry)

    def start(self, host: str, port: int, report: PortReport = lambda _error: None) -> int | None:
        """Serve in a thread; returns the port, or None when it cannot be opened yet.

        A process without metrics does its work: a port in use is logged, and tried again until it
        is free.
        """
        try:
            server = self._open(host, port)
        except OSError as error:
            log.warning("no metrics", extra={"host": host, "port": port, "reason": error.strerror})
            report(error)
            _start_thread(partial(self._serve_when_free, host, port, report))
            return None
        report(None)
        _start_thread(server.serve_forever)
        return server.server_port

    def _open(self, host: str, port: int) -> WSGIServer:
        return make_server(host, port, self._respond, _Server, _SilentHandler)

    def _serve_when_free(self, host: str, port: int, report: PortReport) -> None:
        while True:
            time.sleep(RETRY_SECONDS)
            with suppress(OSError):
                server = self._open(host, port)
                break
        log.warning("metrics are served", extra={"host": host, "port": port})
        report(None)
        server.serve_forever()

    def _respond(self, request: dict[str, Any], start: StartResponse) -> Iterable[bytes]:
        path = request["PATH_INFO"]
        if path == "/metrics":
            response: Iterable[bytes] = self._metrics(request, start)
            return response
        if path not in PROBE_PATHS:
            start("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
            return [b"Not found; there are /metrics and " + ", ".join(PROBE_PATHS).encode() + b"\n"]
        health = self._health()
        passed = health.live and (path in LIVE_PATHS or health.ready)
        status = "200 OK" if passed else "503 Service Unavailable"
        start(status, [("Content-Type", "application/json")])
        return [msgspec.json.encode(health)]


def report_port(run: Path, process: str, port: int, error: OSError | None) -> None:
    """Write for `tidemark status` why the port cannot be opened, or remove what was written."""
    if error is None:
        remove_unserved(run, process)
        return
    is_taken = error.errno == errno.EADDRINUSE
    reason = "is in use by another program" if is_taken else f"cannot be opened: {error.strerror}"
    write_unserved(run, UnservedMetrics(process, os.getpid(), port, reason))


def _start_thread(target: Callable[[], None]) -> None:
    threading.Thread(target=target, name="telemetry", daemon=True).start()


def start_telemetry(settings: Settings, process: str, *collectors: Collector) -> None:
    """Serve the metrics of this process, unless the settings name no port.

    `collectors` read what is counted elsewhere when the metrics are requested.
    """
    if not settings.metrics_port:
        return
    ProcessCollector(registry=REGISTRY)
    PlatformCollector(registry=REGISTRY)
    GCCollector(registry=REGISTRY)
    info = Gauge("tidemark_info", "Version and process", ("version", "process"), registry=REGISTRY)
    info.labels(version("tidemark"), process).set(1)
    for collector in collectors:
        REGISTRY.register(collector)
    run, port = settings.data / "run", settings.metrics_port
    health = partial(heartbeat_health, run, process)
    add_process_gauges(settings.data, lambda: health().ready)
    report = partial(report_port, run, process, port)
    TelemetryServer(health).start(settings.metrics_host, port, report)
