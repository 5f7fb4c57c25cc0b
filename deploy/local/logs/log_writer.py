"""Log writer process: reads all pipes, writes size-rotated files.

    python -S log_writer.py <bytes> <descriptor>=<path>…

A separate process, so that no last line is lost: it runs until every pipe is closed, even when the
supervisor was killed. Output that does not fit on the disk is discarded and counted.
"""

import os
import selectors
import signal
import sys

READ_BYTES = 65_536
MAX_OVERRUN_BYTES = 1_048_576
"""How far a file may exceed its limit while no line ends."""


class RotatingLogFile:
    """One log file, rotated to `NAME.old.log` when it reaches the limit."""

    def __init__(self, path: str, limit: int) -> None:
        self._path = path
        self._limit = limit
        self._descriptor: int | None = None
        self._size = 0
        self._lost_bytes = 0

    def write(self, chunk: bytes) -> None:
        """Append; bytes that cannot be written are counted and reported after the next success."""
        try:
            if self._lost_bytes:
                self._append(b"%d bytes of this log could not be written\n" % self._lost_bytes)
                self._lost_bytes = 0
            self._append(chunk)
        except OSError:
            self._lost_bytes += len(chunk)

    def _append(self, chunk: bytes) -> None:
        descriptor = self._descriptor if self._descriptor is not None else self._open()
        rest = memoryview(chunk)
        while rest:
            written = os.write(descriptor, rest)
            self._size += written
            rest = rest[written:]
        whole = chunk.endswith(b"\n")
        if self._size >= self._limit and (whole or self._size >= self._limit + MAX_OVERRUN_BYTES):
            self._rotate(descriptor)

    def _open(self) -> int:
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._descriptor, self._size = descriptor, os.fstat(descriptor).st_size
        return descriptor

    def _rotate(self, descriptor: int) -> None:
        os.replace(self._path, rotated_name(self._path))  # noqa: PTH105
        self._descriptor = None
        os.close(descriptor)
        self._open()


def rotated_name(path: str) -> str:
    """The name of the rotated log."""
    return f"{path.removesuffix('.log')}.old.log"


def main() -> None:
    """Write until every pipe is closed."""
    # Ctrl-C is for the supervisor; the log writer ends after all processes have closed their pipes.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    limit = int(sys.argv[1])
    pipes = selectors.DefaultSelector()
    for pair in sys.argv[2:]:
        descriptor, _, path = pair.partition("=")
        pipes.register(int(descriptor), selectors.EVENT_READ, RotatingLogFile(path, limit))
    while pipes.get_map():
        for key, _ in pipes.select():
            if chunk := os.read(key.fd, READ_BYTES):
                key.data.write(chunk)
            else:
                pipes.unregister(key.fd)


if __name__ == "__main__":
    main()
