"""A headless Chromium, controlled over its debugging pipe (Chrome DevTools Protocol).

with Chromium(folder) as browser:
    page = browser.page()
    page.go("http://127.0.0.1:20000/")
    assert page.js("document.title") == "Hello"

The pipe needs no port and no package, and a browser whose pipe is closed ends.
"""

import itertools
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

WHOLE = ("chromium", "chromium-browser", "google-chrome")
LIGHT = ("chromium-headless-shell", *WHOLE)
"""The headless shell first: it has no windows, so a page takes a quarter of the CPU time.

Its tabs are always visible, go back without a page cache, and say that they are headless.
"""
SECONDS = 60.0

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)

Message = dict[str, Any]


class ChromiumMissing(Exception):
    """There is no Chromium on this machine."""


class ProtocolError(Exception):
    """Chromium returned an error for a DevTools command."""


class Chromium:
    """One browser with a profile of its own: the first of `names` that this machine has."""

    def __init__(self, folder: Path, *flags: str, names: Sequence[str] = WHOLE) -> None:
        self._executable = executable(names)
        self._folder = folder
        self._flags = (*FLAGS, f"--user-data-dir={folder / 'profile'}", *flags, "about:blank")
        self._numbers = itertools.count(1)
        self._told = threading.Condition()
        self._answers: dict[int, Message] = {}
        self._listeners: dict[str, Callable[[Message], None]] = {}

    def __enter__(self) -> Self:
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        log = (os.O_CREAT | os.O_WRONLY, 0o600)
        self._pid = os.posix_spawn(
            self._executable,
            ["chromium", *self._flags],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 1, str(self._folder / "chromium.log"), *log),
                (os.POSIX_SPAWN_DUP2, 1, 2),
                # By way of numbers that nobody uses, because either may be 3 or 4 itself.
                (os.POSIX_SPAWN_DUP2, to_read, 93),
                (os.POSIX_SPAWN_DUP2, to_write, 94),
                (os.POSIX_SPAWN_DUP2, 93, 3),
                (os.POSIX_SPAWN_DUP2, 94, 4),
                (os.POSIX_SPAWN_CLOSE, 93),
                (os.POSIX_SPAWN_CLOSE, 94),
            ],
        )
        os.close(to_read)
        os.close(to_write)
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._write)
        until = time.monotonic() + SECONDS
        while os.waitpid(self._pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > until:
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
                break
            time.sleep(0.05)
        self._reader.join()
        os.close(self._read)

    def tell(self, method: str, session: str | None = None, **parameters: Any) -> Message:
        """Have one command carried out; its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        with self._told:
            came = self._told.wait_for(lambda: number in self._answers, SECONDS)
            if not came:
                raise ProtocolError(f"{method}: no answer within {SECONDS:.0f} s")
            response = self._answers.pop(number)
        if "error" in response:
            raise ProtocolError(f"{method}: {response['error']['message']}")
        result: Message = response["result"]
        return result

    def listen(self, session: str, listener: Callable[[Message], None]) -> None:
        """Hand on every event of a session, in the thread that reads them."""
        self._listeners[session] = listener

    def _listen(self) -> None:
        held = b""
        while piece := os.read(self._read, 1 << 16):
            *messages, held = (held + piece).split(b"\0")
            for each in messages:
                self._take(json.loads(each))

    def _take(self, message: Message) -> None:
        if "id" not in message:
            if listener := self._listeners.get(message.get("sessionId", "")):
                listener(message)
            return
        with self._told:
            self._answers[message["id"]] = message
            self._told.notify_all()


def executable(names: Sequence[str]) -> str:
    """Where Chromium is; ChromiumMissing says how to get it."""
    for name in names:
        if found := shutil.which(name):
            return found
    raise ChromiumMissing(
        "Chromium is missing; install it, such as by: sudo apt-get install chromium"
    )
