"""The process specs that the settings ask for, in display order."""

import sys
from collections.abc import Iterator

from msgspec import structs

from deploy.local.kafka.broker import Broker, broker_answers
from deploy.local.processes.process import ProcessSpec, ShutdownStage
from deploy.local.processes.readiness import (
    broker_ready,
    heartbeat_ready,
    http_ready,
)
from deploy.local.processes.watchdog import (
    LivenessCheck,
    first_or_second,
    heartbeat_changed,
    http_answers,
)
from schemas.runtime.environment import PREFIX
from schemas.runtime.service_urls import local_address
from schemas.runtime.settings import Settings

METRICS_PORT = f"{PREFIX}METRICS_PORT"
WORKER = "worker-"
"""Names of workers are this and a number."""


def service_specs(settings: Settings) -> list[ProcessSpec]:
    """Collectors, workers, the backfill worker, the keeper and query processes.

    Each serves its metrics on a port of its own, counted up from the setting.
    """
    specs = _specs(settings)
    if not settings.metrics_port:
        return specs
    return [
        structs.replace(spec, variables={METRICS_PORT: str(settings.metrics_port + number)})
        for number, spec in enumerate(specs)
    ]


def _specs(settings: Settings) -> list[ProcessSpec]:
    return [
        *_http_specs(settings, "ingest", "collector", settings.collectors, ShutdownStage.COLLECT),
        *(worker_spec(settings, number) for number in range(1, settings.workers + 1)),
        _optional_spec(settings, "backfill", ShutdownStage.STREAM),
        _optional_spec(settings, "keeper", ShutdownStage.KEEP),
        *_http_specs(settings, "query", "query", settings.queries, ShutdownStage.QUERY),
    ]


def broker_spec(settings: Settings, node: Broker) -> ProcessSpec:
    """The local broker; it gives up after one failed start.

    Its folder is prepared before each start, because it may have been deleted meanwhile.
    """
    return ProcessSpec(
        name="broker",
        argv=tuple(node.prepare()),
        before=node.prepare,
        stage=ShutdownStage.KAFKA,
        is_ready=broker_ready(settings.broker_port),
        is_alive=lambda: broker_answers(settings.broker_port),
        address=f"127.0.0.1:{settings.broker_port}",
        max_attempts=1,
    )


def _http_specs(
    settings: Settings, module: str, word: str, processes: int, stage: ShutdownStage
) -> Iterator[ProcessSpec]:
    collects = stage == ShutdownStage.COLLECT
    port = settings.collect_port if collects else settings.query_port
    for number in range(1, processes + 1):
        name = f"{word}-{number}"
        yield ProcessSpec(
            name=name,
            argv=_module_command(module, "--name", name),
            stage=stage,
            is_ready=http_ready(settings.host, port, settings.data / "run", name),
            is_alive=_http_sign(settings, name, port, alone=processes == 1),
            address=f"http://{settings.host}:{port}",
            # requests in progress get 20 s to finish
            stop_seconds=25 + settings.drain_seconds,
        )


def worker_spec(settings: Settings, number: int) -> ProcessSpec:
    """One of the workers."""
    name = f"{WORKER}{number}"
    return ProcessSpec(
        name=name,
        argv=_module_command("stream", "worker", "--name", name),
        stage=ShutdownStage.STREAM,
        is_ready=heartbeat_ready(settings.data / "run", name),
        is_alive=_heartbeat_sign(settings, name),
    )


def _optional_spec(settings: Settings, role: str, stage: ShutdownStage) -> ProcessSpec:
    """A process that live traffic does not need; its failures do not stop the others."""
    return ProcessSpec(
        name=role,
        argv=_module_command("stream", role, "--name", role),
        stage=stage,
        is_ready=heartbeat_ready(settings.data / "run", role),
        is_alive=_heartbeat_sign(settings, role),
        required=False,
    )


def _heartbeat_sign(settings: Settings, name: str) -> LivenessCheck:
    return heartbeat_changed(settings.data / "run" / f"{name}.json")


def _http_sign(settings: Settings, name: str, port: int, alone: bool) -> LivenessCheck:
    beats = _heartbeat_sign(settings, name)
    return (
        first_or_second(beats, http_answers(local_address(settings.host), port)) if alone else beats
    )


def _module_command(module: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", module, *arguments)
