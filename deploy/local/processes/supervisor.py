"""Starts processes, keeps them alive, and stops them in order; nothing is left when it returns."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from deploy.local.logs.log_pipes import LogPipes
from deploy.local.processes.process import ProcessSpec, ProcessState, ShutdownStage
from deploy.local.processes.supervised_process import StartFailed, SupervisedProcess

START_TIMEOUT_SECONDS = 90.0
OPTIONAL_WAIT_SECONDS = 10.0
"""How long those that the whole can do without are waited for when all others are ready."""
LOOK_SECONDS = 0.5
LOG_BYTES = 16 * 1024 * 1024


class StartupFailed(Exception):
    """The whole could not be brought up; the message says what and why."""


class Supervisor:
    """Children of the given specs, all started at once: who needs another waits for it itself.

    `once_kafka_is_up` runs when the broker answers, if there is one, and `kafka_again` whenever it
    answers after a restart: its topics may be gone with its folder. A process that the others do
    not need never ends the whole; one that hangs for `hung_seconds` is started anew.
    """

    def __init__(
        self,
        specs: Sequence[ProcessSpec],
        environment: Mapping[str, str],
        logs: Path,
        once_kafka_is_up: Callable[[], Awaitable[None]],
        changed: Callable[[], None] = lambda: None,
        hung_seconds: float = 0.0,
        log_bytes: int = LOG_BYTES,
        kafka_again: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        self._pipes = LogPipes(logs, [spec.name for spec in specs], log_bytes)
        self._kafka_ready = asyncio.Event()
        self.processes = [
            SupervisedProcess(
                spec,
                environment,
                self._pipes.by_name[spec.name],
                changed,
                hung_seconds,
                self._counts_failures(spec),
            )
            for spec in specs
        ]
        self.stopping = asyncio.Event()
        """Set it to stop in order."""
        self.killing = asyncio.Event()
        """Set it to kill what has not stopped yet."""
        self._on_kafka_ready = once_kafka_is_up
        self._kafka_again = kafka_again

    async def run(self, once_ready: Callable[[], Awaitable[None]]) -> None:
        """Until `stopping` is set. Whatever is raised, everything is stopped first."""
        writing = asyncio.create_task(self._pipes.run())
        keeping = [asyncio.create_task(self._run_process(child)) for child in self.processes]
        ordered = asyncio.create_task(self.stopping.wait())
        coming_up = asyncio.create_task(self._start_all(once_ready))
        again = asyncio.create_task(self._look_at_kafka())
        pending: set[asyncio.Task[None] | asyncio.Task[bool]] = {
            ordered,
            coming_up,
            again,
            *keeping,
        }
        try:
            while not ordered.done():
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
        finally:
            self.stopping.set()  # also for what looks at it in a thread
            ordered.cancel()
            coming_up.cancel()
            again.cancel()
            await self._stop()
            await asyncio.gather(coming_up, again, *keeping, return_exceptions=True)
            await self._pipes.close()
            await writing

    def on_signal(self) -> None:
        """The first signal stops in order, the second at once."""
        if self.stopping.is_set():
            self.killing.set()
        self.stopping.set()

    def _counts_failures(self, spec: ProcessSpec) -> Callable[[], bool]:
        """Until there is a Kafka, who needs it may end as often as it likes."""
        return (lambda: True) if spec.stage == ShutdownStage.KAFKA else self._kafka_ready.is_set

    async def _run_process(self, child: SupervisedProcess) -> None:
        try:
            await child.run()
        except StartFailed as hopeless:
            raise StartupFailed(str(hopeless)) from None

    async def _start_all(self, once_ready: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(START_TIMEOUT_SECONDS):
                await self._wait_until_ready()
        except TimeoutError:
            slow = [c for c in self.processes if c.spec.required and not c.became_ready.is_set()]
            names = ", ".join(f"{child.spec.name} (see {child.log})" for child in slow)
            raise StartupFailed(
                f"not ready within {START_TIMEOUT_SECONDS:.0f} s: {names}"
            ) from None
        with suppress(TimeoutError):
            async with asyncio.timeout(OPTIONAL_WAIT_SECONDS):
                for child in self.processes:
                    await child.became_ready.wait()
        await once_ready()

    async def _wait_until_ready(self) -> None:
        for child in self.processes:
            if child.spec.stage == ShutdownStage.KAFKA:
                await child.became_ready.wait()
        await self._on_kafka_ready()
        self._kafka_ready.set()
        for child in self.processes:
            if child.spec.required:
                await child.became_ready.wait()

    async def _look_at_kafka(self) -> None:
        """After each restart of the broker, call `kafka_again` until it succeeds."""
        await self._kafka_ready.wait()
        seen = 0
        while True:
            for child in self.processes:
                back = child.spec.stage == ShutdownStage.KAFKA and child.state == ProcessState.READY
                if back and self._kafka_again and (restarts := child.restarts) != seen:
                    seen = restarts if await self._kafka_again() else seen
            await asyncio.sleep(LOOK_SECONDS)

    async def _stop(self) -> None:
        for stage in ShutdownStage:
            stopping = [c.stop(self.killing) for c in self.processes if c.spec.stage == stage]
            await asyncio.gather(*stopping)

    @property
    def ready(self) -> bool:
        """Whether every process is."""
        return all(child.state == ProcessState.READY for child in self.processes)
