"""One process that is kept alive: started, watched until ready, started again when it ends."""

import asyncio
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress

from deploy.local.logs.log_files import last_lines, last_reason
from deploy.local.logs.log_pipes import LogPipe
from deploy.local.processes.process import Running, Spec, State
from deploy.local.processes.watchdog import Watchdog, can_write

FIRST_DELAY_SECONDS = 0.2
LONGEST_DELAY_SECONDS = 10.0
STEADY_SECONDS = 30.0
"""Who has run that long is forgiven for earlier ends."""
LOOK_SECONDS = 0.1
CALM_SECONDS = 1.0


class NeverReady(Exception):
    """A process ended several times and was not ready once; the message has its last lines."""


class Child:
    """Keeps the process of one spec running until it is told to stop.

    `hung_seconds` without a sign of life end a process that was ready (0: never). Its ends count
    against `attempts` from the moment that `counts` says so: others may not be there to be used.
    """

    def __init__(
        self,
        spec: Spec,
        environment: Mapping[str, str],
        log: LogPipe,
        changed: Callable[[], None] = lambda: None,
        hung_seconds: float = 0.0,
        counts: Callable[[], bool] = lambda: True,
    ) -> None:
        self.spec = spec
        self.log = log.path
        self.state = State.WAITING
        self.running: Running | None = None
        self.restarts = 0
        self.reason = ""
        """Why it ended last, or what it is waiting for; forgotten when it has run steadily."""
        self.readied = asyncio.Event()
        """Set when it was ready for the first time."""
        self.ends = 0
        self._pipe = log
        self._environment = environment
        self._changed = changed
        self._stopping = asyncio.Event()
        self._hung_seconds = hung_seconds
        self._hung = False
        self._counts = counts
        self._failed = 0

    @property
    def pid(self) -> int | None:
        """Pid of the process that runs now."""
        return self.running.pid if self.running else None

    async def keep(self) -> None:
        """Run the process until `stop`; NeverReady when it will not run."""
        while not self._stopping.is_set():
            await self._run_once()
            if self._stopping.is_set():
                break
            self._failed += self._counts()
            self._give_up_if_hopeless()
            self._enter(State.RESTARTING)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), self.delay())
            self.restarts += 1
        self._enter(State.STOPPED)

    async def stop(self, hurry: asyncio.Event) -> None:
        """End the process and do not start it again."""
        self._stopping.set()
        if self.running:
            self._enter(State.STOPPING)
            await self.running.stop(hurry)

    def delay(self) -> float:
        """Seconds until the next start: doubled with every end in a row, and capped."""
        return min(FIRST_DELAY_SECONDS * 2.0 ** (self.ends - 1), LONGEST_DELAY_SECONDS)

    async def _run_once(self) -> None:
        try:
            if self.spec.before:
                await asyncio.to_thread(self.spec.before)
            self.running = await Running.start(self.spec, self._environment, self._pipe.write_end)
        except (OSError, RuntimeError) as refused:  # no memory, descriptors or room at the moment
            self.ends += 1
            self.reason = f"cannot be started: {refused}"
            return
        self._hung = False
        self._enter(State.STARTING)
        if self._stopping.is_set():  # told to stop while it was being started
            self.running.signal(signal.SIGKILL)
        watching = asyncio.create_task(self._watch(self.running))
        try:
            code = await self.running.ended()
        finally:
            watching.cancel()
        self.ends = 1 if self.running.seconds > STEADY_SECONDS else self.ends + 1
        self.running = None
        if not self._stopping.is_set():
            await self._pipe.settled()
            self.reason = self._why(code)

    async def _watch(self, running: Running) -> None:
        """Ask again and again whether it is ready: often until it is, now and then afterwards."""
        watchdog = Watchdog(self._hung_seconds)
        was_ready = False
        while True:
            ready = await self._is_ready(running)
            if not self._stopping.is_set():
                self._judge(ready, running)
            was_ready = was_ready or ready
            if was_ready and self._hung_seconds and self.spec.sign:
                await self._end_if_hung(running, watchdog)
            await asyncio.sleep(LOOK_SECONDS if self.state == State.STARTING else CALM_SECONDS)

    async def _is_ready(self, running: Running) -> bool:
        try:
            return await asyncio.to_thread(self.spec.ready, running.pid)
        except (OSError, RuntimeError):  # no descriptor or thread to look with at the moment
            return False

    def _judge(self, ready: bool, running: Running) -> None:
        if ready and self.reason and running.seconds > STEADY_SECONDS:
            self.reason = ""
            self._changed()
        if ready and self.state != State.READY:
            self._enter(State.READY)
            self.readied.set()
        elif not ready and self.state == State.READY:
            self._enter(State.UNREADY)

    async def _end_if_hung(self, running: Running, watchdog: Watchdog) -> None:
        """SIGKILL: who is frozen hears nothing else."""
        assert self.spec.sign  # noqa: S101 - for the type checker
        alive = await asyncio.to_thread(self.spec.sign)
        if not watchdog.hangs(alive) or self._stopping.is_set():
            return
        if await asyncio.to_thread(can_write, self.log.parent):
            self._hung = True
            running.signal(signal.SIGKILL)
        else:
            watchdog.forgive()

    def _why(self, code: int) -> str:
        if self._hung:
            return f"showed no sign of life for {self._hung_seconds:.0f} s and was killed"
        if code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        words = last_reason(self.log) if code else ""
        return f"ended with exit code {code}" + (f": {words}" if words else "")

    def _give_up_if_hopeless(self) -> None:
        hopeless = self._failed >= self.spec.attempts and not self.readied.is_set()
        if hopeless and self.spec.needed:
            how = self.reason.partition(":")[0].removeprefix("ended with ")
            raise NeverReady(
                f"{self.spec.name} cannot start ({how}). "
                f"The last lines of {self.log}:\n{last_lines(self.log)}"
            )

    def _enter(self, state: State) -> None:
        self.state = state
        self._changed()
