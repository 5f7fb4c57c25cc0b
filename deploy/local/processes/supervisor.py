"""Supervisor: starts all processes, keeps them running, stops them in order."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from deploy.local.logs.log_pipes import LogPipes
from deploy.local.processes.process import ProcessSpec, ProcessState, ShutdownStage
from deploy.local.processes.supervised_process import StartFailed, SupervisedProcess

START_TIMEOUT_SECONDS = 90.0
OPTIONAL_WAIT_SECONDS = 10.0
"""How long to wait for optional processes after all required ones are ready."""
POLL_INTERVAL_SECONDS = 0.5
LOG_BYTES = 16 * 1024 * 1024


class StartupFailed(Exception):
    """A required process could not be started; the message says which one and why."""


class Supervisor:
    """Starts all processes at once; each waits by itself for those that it needs.

    `on_kafka_ready` runs when the broker is ready, if there is one, and `on_kafka_restart` after
    each of its restarts, because its topics may have been deleted with its folder. A failing
    optional process never stops the others; one that hangs for `hung_seconds` is restarted.
    """

    def __init__(
        self,
        specs: Sequence[ProcessSpec],
        environment: Mapping[str, str],
        logs: Path,
        on_kafka_ready: Callable[[], Awaitable[None]],
        on_change: Callable[[], None] = lambda: None,
        hung_seconds: float = 0.0,
        log_bytes: int = LOG_BYTES,
        on_kafka_restart: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        self._logs, self._log_bytes = logs, log_bytes
        self._environment, self._on_change = environment, on_change
        self._hung_seconds = hung_seconds
        self._pipes = LogPipes(logs, [spec.name for spec in specs], log_bytes)
        self._kafka_ready = asyncio.Event()
        self.processes = [self._supervised(spec, self._pipes) for spec in specs]
        self._added: dict[str, asyncio.Task[None]] = {}
        self.stopping = asyncio.Event()
        """Set it for a stop in order."""
        self.killing = asyncio.Event()
        """Set it to kill the processes that still run."""
        self._on_kafka_ready = on_kafka_ready
        self._on_kafka_restart = on_kafka_restart

    async def run(self, once_ready: Callable[[], Awaitable[None]]) -> None:
        """Run until `stopping` is set; all processes are stopped before it returns or raises."""
        log_task = asyncio.create_task(self._pipes.run())
        process_tasks = [asyncio.create_task(self._run_process(child)) for child in self.processes]
        stop_order = asyncio.create_task(self.stopping.wait())
        startup = asyncio.create_task(self._start_all(once_ready))
        recreation = asyncio.create_task(self._follow_broker_restarts())
        pending: set[asyncio.Task[None] | asyncio.Task[bool]] = {
            stop_order,
            startup,
            recreation,
            *process_tasks,
        }
        try:
            while not stop_order.done():
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
        finally:
            self.stopping.set()  # also for threads that poll it
            stop_order.cancel()
            startup.cancel()
            recreation.cancel()
            await self._stop()
            ended = (startup, recreation, *process_tasks, *self._added.values())
            await asyncio.gather(*ended, return_exceptions=True)
            await self._pipes.close()
            await log_task

    def on_signal(self) -> None:
        """The first signal stops all processes in order, the second one immediately."""
        if self.stopping.is_set():
            self.killing.set()
        self.stopping.set()

    def add(self, spec: ProcessSpec) -> None:
        """Start one more process, listed behind those of its stage; it never ends the others."""
        if self.stopping.is_set():
            return
        pipes = LogPipes(self._logs, [spec.name], self._log_bytes)
        child = self._supervised(msgspec.structs.replace(spec, required=False), pipes)
        before = [n for n, other in enumerate(self.processes) if other.spec.stage == spec.stage]
        last = max(before, default=-1)
        self.processes = [*self.processes[: last + 1], child, *self.processes[last + 1 :]]
        self._added[spec.name] = asyncio.create_task(_run_with_log(child, pipes))
        self._on_change()

    async def remove(self, name: str) -> None:
        """Stop one process in order, and forget it when it has ended."""
        for child in [child for child in self.processes if child.spec.name == name]:
            await child.stop(self.killing)
            if task := self._added.pop(name, None):
                await task
            self.processes = [other for other in self.processes if other is not child]
            self._on_change()

    def _supervised(self, spec: ProcessSpec, pipes: LogPipes) -> SupervisedProcess:
        return SupervisedProcess(
            spec,
            self._environment,
            pipes.by_name[spec.name],
            self._on_change,
            self._hung_seconds,
            self._counts_failures(spec),
        )

    def _counts_failures(self, spec: ProcessSpec) -> Callable[[], bool]:
        """Failures of other processes do not count before Kafka is ready."""
        return (lambda: True) if spec.stage == ShutdownStage.KAFKA else self._kafka_ready.is_set

    async def _run_process(self, child: SupervisedProcess) -> None:
        try:
            await child.run()
        except StartFailed as error:
            raise StartupFailed(str(error)) from None

    async def _start_all(self, once_ready: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(START_TIMEOUT_SECONDS):
                await self._wait_until_ready()
        except TimeoutError:
            slow = [c for c in self.processes if c.spec.required and not c.became_ready.is_set()]
            names = ", ".join(f"{child.spec.name} (see {child.log})" for child in slow)
            raise StartupFailed(f"not ready after {START_TIMEOUT_SECONDS:.0f} s: {names}") from None
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

    async def _follow_broker_restarts(self) -> None:
        """After each restart of the broker, call `on_kafka_restart` until it succeeds."""
        await self._kafka_ready.wait()
        seen = 0
        while True:
            for child in self.processes:
                back = child.spec.stage == ShutdownStage.KAFKA and child.state == ProcessState.READY
                if back and self._on_kafka_restart and (ended := child.ended_count) != seen:
                    seen = ended if await self._on_kafka_restart() else seen
            await asyncio.sleep(POLL_INTERVAL_SECONDS)

    async def _stop(self) -> None:
        for stage in ShutdownStage:
            stopping = [c.stop(self.killing) for c in self.processes if c.spec.stage == stage]
            await asyncio.gather(*stopping)

    @property
    def ready(self) -> bool:
        """Whether every process is ready."""
        return all(child.state == ProcessState.READY for child in self.processes)


async def _run_with_log(child: SupervisedProcess, pipes: LogPipes) -> None:
    """Run a process with a log writer of its own: a running one cannot be given another pipe."""
    writer = asyncio.create_task(pipes.run())
    try:
        await child.run()
    finally:
        await pipes.close()
        await writer
