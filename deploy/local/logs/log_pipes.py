"""Pipes from processes to the log writer, which never block a process.

The supervisor holds both ends and reads nothing: a pipe outlives the log writer, which is
restarted, and output that does not fit into a full pipe is dropped (the write end is non-blocking).
"""

import asyncio
import fcntl
import os
import struct
import sys
import termios
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

WRITER_SCRIPT = Path(__file__).with_name("log_writer.py")
PIPE_BYTES = 1_048_576
F_SETPIPE_SZ = 1031
"""Linux only; elsewhere pipes keep their default size."""
RESTART_DELAY_SECONDS = 0.2
FLUSH_TIMEOUT_SECONDS = 5.0
DRAIN_TIMEOUT_SECONDS = 1.0
POLL_INTERVAL_SECONDS = 0.01


class LogPipe:
    """The pipe that one process writes to, and its log file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.write_end, False)
        with suppress(OSError):  # limited per user; the default 64 KiB will do
            fcntl.fcntl(self.write_end, F_SETPIPE_SZ, PIPE_BYTES)

    async def drained(self) -> None:
        """Wait until the output so far is in the file, or the timeout has passed."""
        for _ in range(int(DRAIN_TIMEOUT_SECONDS / POLL_INTERVAL_SECONDS)):
            waiting = self._unread_bytes()
            await asyncio.sleep(POLL_INTERVAL_SECONDS)
            if not waiting and not self._unread_bytes():
                return

    def close(self) -> None:
        """The write end; the pipe ends when every process has left, too."""
        os.close(self.write_end)

    def _unread_bytes(self) -> int:
        unread: int = struct.unpack("i", fcntl.ioctl(self.read_end, termios.FIONREAD, b"\0" * 4))[0]
        return unread


class LogPipes:
    """The pipes of all processes, and their one writer."""

    def __init__(self, folder: Path, names: Iterable[str], limit: int) -> None:
        with suppress(OSError):  # then the log writer cannot write either
            folder.mkdir(parents=True, exist_ok=True)
        self.by_name = {name: LogPipe(folder / f"{name}.log") for name in names}
        self._limit = limit
        self._closing = False
        self._writer: asyncio.subprocess.Process | None = None

    async def run(self) -> None:
        """Keep a log writer running until `close`; a new one continues where the last one ended."""
        while not self._closing:
            with suppress(OSError):  # no memory for a process: the pipes buffer meanwhile
                self._writer = await self._start()
                await self._writer.wait()
            if not self._closing:
                await asyncio.sleep(RESTART_DELAY_SECONDS)

    async def close(self) -> None:
        """Let the log writer write the remaining output, and end it."""
        self._closing = True
        for pipe in self.by_name.values():
            pipe.close()
        if self._writer:
            try:
                await asyncio.wait_for(self._writer.wait(), FLUSH_TIMEOUT_SECONDS)
            except TimeoutError:  # a process that is not ours still holds a pipe open
                with suppress(ProcessLookupError):
                    self._writer.kill()
        for pipe in self.by_name.values():
            os.close(pipe.read_end)

    async def _start(self) -> asyncio.subprocess.Process:
        ends = {pipe.read_end: pipe.path for pipe in self.by_name.values()}
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-S", str(WRITER_SCRIPT), str(self._limit)),
            *(f"{end}={path}" for end, path in ends.items()),
            pass_fds=tuple(ends),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
