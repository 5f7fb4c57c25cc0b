"""The processes that settings ask for: a list of specs, in the order in which they are shown."""

import sys
from collections.abc import Iterator

from deploy.local.process import Spec, Stage
from deploy.local.ready import broker_says, http_says, pulse_says
from schemas.settings import Settings


def services(settings: Settings) -> list[Spec]:
    """Collectors, workers, the backfill worker, the keeper and query processes."""
    return [
        *_shared_port(settings, "ingest", "collector", settings.collectors, Stage.COLLECT),
        *_workers(settings),
        _one(settings, "backfill", Stage.STREAM),
        _one(settings, "keeper", Stage.KEEP),
        *_shared_port(settings, "query", "query", settings.queries, Stage.QUERY),
    ]


def broker(settings: Settings, command: list[str]) -> Spec:
    """The broker of our own; one failed start is enough to give up."""
    return Spec(
        name="broker",
        argv=tuple(command),
        stage=Stage.KAFKA,
        ready=broker_says(settings.broker_port),
        where=f"127.0.0.1:{settings.broker_port}",
        attempts=1,
    )


def _shared_port(
    settings: Settings, module: str, word: str, processes: int, stage: Stage
) -> Iterator[Spec]:
    collects = stage == Stage.COLLECT
    port = settings.collect_port if collects else settings.query_port
    for number in range(1, processes + 1):
        name = f"{word}-{number}"
        yield Spec(
            name=name,
            argv=_python(module, "--name", name),
            stage=stage,
            ready=http_says(settings.host, port, settings.data / "run", name),
            where=f"http://{settings.host}:{port}",
            stop_seconds=25,  # they finish the requests under way within 20
        )


def _workers(settings: Settings) -> Iterator[Spec]:
    for number in range(1, settings.workers + 1):
        name = f"worker-{number}"
        yield Spec(
            name=name,
            argv=_python("stream", "worker", "--name", name),
            stage=Stage.STREAM,
            ready=pulse_says(settings.data / "run", name),
        )


def _one(settings: Settings, role: str, stage: Stage) -> Spec:
    return Spec(
        name=role,
        argv=_python("stream", role, "--name", role),
        stage=stage,
        ready=pulse_says(settings.data / "run", role),
    )


def _python(module: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", module, *arguments)
