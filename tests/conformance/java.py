"""A Java that runs Trino: 24 or newer, of this machine, or downloaded."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

MIN_VERSION, DOWNLOADED_VERSION = 24, "25"


class NoJava(Exception):
    """There is no Java that is new enough."""


def find_java() -> Path:
    """`java` of JAVA_HOME, of the PATH, of the usual folder, or of a JDK that cjdk downloads."""
    for java in _candidates():
        if java.exists() and _version_of(java) >= MIN_VERSION:
            return java
    return _download()


def _candidates() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if found := shutil.which("java"):
        yield Path(found)
    yield from sorted(Path("/usr/lib/jvm").glob("*/bin/java"), reverse=True)


def _version_of(java: Path) -> int:
    done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    version = re.search(r'version "(\d+)', done.stderr)
    return int(version[1]) if version else 0


def _download() -> Path:
    import cjdk

    try:
        home = cjdk.java_home(
            vendor="temurin",
            version=DOWNLOADED_VERSION,
            cache_dir=Path(sys.prefix) / "share" / "tidemark" / "jdk",
        )
    except cjdk.CjdkError as error:
        raise NoJava(
            f"Trino needs Java {MIN_VERSION} or newer, and none can be downloaded ({error}); "
            "set JAVA_HOME"
        ) from None
    return home / "bin" / "java"
