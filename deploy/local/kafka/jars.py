"""The broker's jars: fetched once, kept in the environment, and each one checked before it is run.

`deploy/locks/kafka-jars.sha256` names every jar with its sum. What is not on the list, or does not
have the sum that the list gives, is never put on a class path.
"""

import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

CHECKSUM_FILE = Path(__file__).parents[2] / "locks" / "kafka-jars.sha256"
JAR_FOLDER = Path(sys.prefix) / "share" / "tidemark" / "kafka"
CLASS_ARCHIVE = JAR_FOLDER.with_suffix(".jsa")
"""Their classes as `deploy.local.kafka.class_archive` keeps them."""


class InvalidJar(Exception):
    """A jar is missing, not on the list, or not the one that the list means."""


def class_path(jars: Sequence[Path]) -> str:
    """The jars as `java -cp` wants them; the archive fits this very text only."""
    return ":".join(map(str, jars))


def verify_jars(folder: Path, listed: Mapping[str, str]) -> None:
    """Refuse a folder that does not hold exactly the listed jars."""
    found = {path.name for path in folder.glob("*.jar")}
    if missing := sorted(listed.keys() - found):
        raise InvalidJar(f"{folder / missing[0]} is missing. {_advice(folder)}")
    if unknown := sorted(found - listed.keys()):
        raise InvalidJar(f"{folder / unknown[0]} is not in {CHECKSUM_FILE.name}. {_advice(folder)}")
    for name, expected in listed.items():
        if (actual := _sha256(folder / name)) != expected:
            raise InvalidJar(
                f"{folder / name} has sha256 {actual}, not {expected} as {CHECKSUM_FILE.name} "
                f"says. "
                f"{_advice(folder)}"
            )


def read_checksums(path: Path = CHECKSUM_FILE) -> dict[str, str]:
    """Sums by name of the jar."""
    lines = (line.split() for line in path.read_text().splitlines())
    return {name: total for total, name in lines}


def write_checksums(folder: Path, path: Path = CHECKSUM_FILE) -> None:
    """Make the list say what a folder holds."""
    jars = sorted(folder.glob("*.jar"))
    path.write_text("".join(f"{_sha256(jar)}  {jar.name}\n" for jar in jars))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _advice(folder: Path) -> str:
    return f"Remove {folder} and start again to fetch the jars anew."
