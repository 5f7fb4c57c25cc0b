"""The one process that writes the logs of all others: pipes in, files that rotate by size out.

    python -S log_writer.py <bytes> <descriptor>=<path>…

A process of its own, so that nobody's last words are lost: it goes on until every pipe has ended,
also when the supervisor was killed. What the disk has no room for is read away and counted.
"""

import os
import selectors
import signal
import sys

READ_BYTES = 65_536
MAX_OVERRUN_BYTES = 1_048_576
"""By how much a file may exceed its size when no line ends."""


class RotatingLogFile:
    """One log: appended to, put aside as `NAME.old.log` when it is long enough."""

    def __init__(self, path: str, limit: int) -> None:
        self._path = path
        self._limit = limit
        self._descriptor: int | None = None
        self._size = 0
        self._lost_bytes = 0

    def write(self, piece: bytes) -> None:
        """Append; what cannot be written is counted, and told when there is room again."""
        try:
            if self._lost_bytes:
                self._append(b"%d bytes of this log could not be written\n" % self._lost_bytes)
                self._lost_bytes = 0
            self._append(piece)
        except OSError:
            self._lost_bytes += len(piece)

    def _append(self, piece: bytes) -> None:
        descriptor = self._descriptor if self._descriptor is not None else self._open()
        rest = memoryview(piece)
        while rest:
            written = os.write(descriptor, rest)
            self._size += written
            rest = rest[written:]
        whole = piece.endswith(b"\n")
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
    """What the log that was put aside is called."""
    return f"{path.removesuffix('.log')}.old.log"


def main() -> None:
    """Write until every pipe has ended."""
    # A ctrl-C is for the supervisor; our turn is when everybody has said their last words.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    limit = int(sys.argv[1])
    pipes = selectors.DefaultSelector()
    for pair in sys.argv[2:]:
        descriptor, _, path = pair.partition("=")
        pipes.register(int(descriptor), selectors.EVENT_READ, RotatingLogFile(path, limit))
    while pipes.get_map():
        for key, _ in pipes.select():
            if piece := os.read(key.fd, READ_BYTES):
                key.data.write(piece)
            else:
                pipes.unregister(key.fd)


if __name__ == "__main__":
    main()
