"""The processes that settings ask for: a list of specs, in the order in which they are shown."""

import sys
from collections.abc import Iterator

from deploy.local.kafka.broker import Broker, answers
from deploy.local.processes.process import Spec, Stage
from deploy.local.processes.readiness import broker_says, http_says, pulse_says, reachable
from deploy.local.processes.watchdog import Sign, answers_http, either, heartbeat
from schemas.runtime.settings import Settings


def services(settings: Settings) -> list[Spec]:
    """Collectors, workers, the backfill worker, the keeper and query processes."""
    return [
        *_shared_port(settings, "ingest", "collector", settings.collectors, Stage.COLLECT),
        *_workers(settings),
        _beside(settings, "backfill", Stage.STREAM),
        _beside(settings, "keeper", Stage.KEEP),
        *_shared_port(settings, "query", "query", settings.queries, Stage.QUERY),
    ]


def broker(settings: Settings, node: Broker) -> Spec:
    """The broker of our own; one failed start is enough to give up.

    Its folder is prepared before each start: somebody may have deleted it meanwhile.
    """
    return Spec(
        name="broker",
        argv=tuple(node.prepare()),
        before=node.prepare,
        stage=Stage.KAFKA,
        ready=broker_says(settings.broker_port),
        sign=lambda: answers(settings.broker_port),
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
            sign=_served(settings, name, port, alone=processes == 1),
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
            sign=_beats(settings, name),
        )


def _beside(settings: Settings, role: str, stage: Stage) -> Spec:
    """One that live traffic does without: when it fails, the rest goes on."""
    return Spec(
        name=role,
        argv=_python("stream", role, "--name", role),
        stage=stage,
        ready=pulse_says(settings.data / "run", role),
        sign=_beats(settings, role),
        needed=False,
    )


def _beats(settings: Settings, name: str) -> Sign:
    return heartbeat(settings.data / "run" / f"{name}.json")


def _served(settings: Settings, name: str, port: int, alone: bool) -> Sign:
    beats = _beats(settings, name)
    return either(beats, answers_http(reachable(settings.host), port)) if alone else beats


def _python(module: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", module, *arguments)
