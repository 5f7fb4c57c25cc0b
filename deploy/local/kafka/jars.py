"""Verifies the broker's jars against deploy/locks/kafka-jars.sha256.

A jar that is not listed there, or has another checksum, is never put on a class path.
"""

import hashlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

CHECKSUM_FILE = Path(__file__).parents[2] / "locks" / "kafka-jars.sha256"
JAR_FOLDER = Path(sys.prefix) / "share" / "tidemark" / "kafka"
CLASS_ARCHIVE = JAR_FOLDER.with_suffix(".jsa")
"""The class archive; see `deploy.local.kafka.class_archive`."""


class InvalidJar(Exception):
    """A jar is missing, not listed, or has another checksum than the list."""


def class_path(jars: Sequence[Path]) -> str:
    """The value of `java -cp`; a class archive matches exactly this text."""
    return ":".join(map(str, jars))


def verify_jars(folder: Path, checksums: Mapping[str, str]) -> None:
    """Raise InvalidJar unless the folder contains exactly the listed jars."""
    present = {path.name for path in folder.glob("*.jar")}
    if missing := sorted(checksums.keys() - present):
        raise InvalidJar(f"{folder / missing[0]} is missing. {_advice(folder)}")
    if unknown := sorted(present - checksums.keys()):
        raise InvalidJar(f"{folder / unknown[0]} is not in {CHECKSUM_FILE.name}. {_advice(folder)}")
    for name, expected in checksums.items():
        if (actual := _sha256(folder / name)) != expected:
            raise InvalidJar(
                f"{folder / name} has sha256 {actual}, but {CHECKSUM_FILE.name} lists {expected}. "
                f"{_advice(folder)}"
            )


def read_checksums(path: Path = CHECKSUM_FILE) -> dict[str, str]:
    """Name of the file → checksum."""
    lines = (line.split() for line in path.read_text().splitlines())
    return {line[1]: line[0] for line in lines}


def read_coordinates(path: Path = CHECKSUM_FILE) -> list[str]:
    """Maven coordinates of all jars of a list."""
    return [line.split()[2] for line in path.read_text().splitlines()]


def write_checksums(folder: Path, coordinates: Iterable[str], path: Path = CHECKSUM_FILE) -> None:
    """Write checksum, name and coordinates of the jars of a folder."""
    by_name = {"{1}-{2}.jar".format(*each.split(":")): each for each in coordinates}
    jars = sorted(folder.glob("*.jar"))
    path.write_text("".join(f"{_sha256(jar)}  {jar.name}  {by_name[jar.name]}\n" for jar in jars))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _advice(folder: Path) -> str:
    return f"Delete {folder} and run the command again to download the jars."
