"""The process specs that the settings ask for, in display order."""

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, TypeAlias

from msgspec import structs

from deploy.local.kafka.broker import Broker, broker_answers
from deploy.local.processes.process import METRICS_PORT, ProcessSpec, ShutdownStage
from deploy.local.processes.readiness import broker_ready, heartbeat_ready
from deploy.local.processes.watchdog import (
    LivenessCheck,
    first_or_second,
    heartbeat_changed,
    http_answers,
)
from schemas.runtime.service_urls import local_address, service_url
from schemas.runtime.settings import Settings

Role: TypeAlias = Literal["collector", "worker", "query"]
"""Of which there may be several; names are the role and a number."""


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
        *_numbered(settings, "collector", settings.collectors),
        *_numbered(settings, "worker", settings.workers),
        _optional_spec(settings, "backfill", ShutdownStage.STREAM),
        _optional_spec(settings, "keeper", ShutdownStage.KEEP),
        *_numbered(settings, "query", settings.queries),
    ]


def _numbered(settings: Settings, role: Role, count: int) -> Iterator[ProcessSpec]:
    return (SCALED_SPECS[role](settings, number) for number in range(1, count + 1))


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


def _collector_spec(settings: Settings, number: int) -> ProcessSpec:
    name, port = f"collector-{number}", settings.collect_port
    is_alone = number == settings.collectors == 1
    return _http_spec(settings, "ingest", name, port, ShutdownStage.COLLECT, is_alone)


def _query_spec(settings: Settings, number: int) -> ProcessSpec:
    name, port = f"query-{number}", settings.query_port
    is_alone = number == settings.queries == 1
    return _http_spec(settings, "query", name, port, ShutdownStage.QUERY, is_alone)


def _http_spec(
    settings: Settings, module: str, name: str, port: int, stage: ShutdownStage, is_alone: bool
) -> ProcessSpec:
    return ProcessSpec(
        name=name,
        argv=_module_command(module, "--name", name),
        stage=stage,
        is_ready=heartbeat_ready(settings.data / "run", name),
        is_alive=_http_sign(settings, name, port, alone=is_alone),
        address=service_url(settings.host, port),
        # requests in progress get 20 s to finish
        stop_seconds=25 + settings.drain_seconds,
    )


def _worker_spec(settings: Settings, number: int) -> ProcessSpec:
    name = f"worker-{number}"
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


SCALED_SPECS: Mapping[Role, Callable[[Settings, int], ProcessSpec]] = {
    "collector": _collector_spec,
    "worker": _worker_spec,
    "query": _query_spec,
}
"""The process of each role with a number."""
