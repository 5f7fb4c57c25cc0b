"""The broker's jars: fetched once, kept in the environment, and each one checked before it is run.

`deploy/locks/kafka-jars.sha256` names every jar with its sum. What is not on the list, or does not
have the sum that the list gives, is never put on a class path.
"""

import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

LIST = Path(__file__).parents[2] / "locks" / "kafka-jars.sha256"
FOLDER = Path(sys.prefix) / "share" / "tidemark" / "kafka"
ARCHIVE = FOLDER.with_suffix(".jsa")
"""Their classes as `deploy.local.kafka.class_archive` keeps them."""


class JarRefused(Exception):
    """A jar is missing, not on the list, or not the one that the list means."""


def broker_jars(folder: Path = FOLDER, expected: Mapping[str, str] | None = None) -> list[Path]:
    """The checked jars, fetched when there are none yet."""
    listed = read_list() if expected is None else expected
    if not folder.is_dir():
        from deploy.local.kafka.jar_download import (
            fetch,  # only a first start pays for what it imports
        )

        fetch(folder, listed)
    check(folder, listed)
    return [folder / name for name in sorted(listed)]


def class_path(jars: Sequence[Path]) -> str:
    """The jars as `java -cp` wants them; the archive fits this very text only."""
    return ":".join(map(str, jars))


def check(folder: Path, listed: Mapping[str, str]) -> None:
    """Refuse a folder that does not hold exactly the listed jars."""
    found = {path.name for path in folder.glob("*.jar")}
    if missing := sorted(listed.keys() - found):
        raise JarRefused(f"{folder / missing[0]} is missing. {_advice(folder)}")
    if unknown := sorted(found - listed.keys()):
        raise JarRefused(f"{folder / unknown[0]} is not in {LIST.name}. {_advice(folder)}")
    for name, expected in listed.items():
        if (actual := _sum(folder / name)) != expected:
            raise JarRefused(
                f"{folder / name} has sha256 {actual}, not {expected} as {LIST.name} says. "
                f"{_advice(folder)}"
            )


def read_list(path: Path = LIST) -> dict[str, str]:
    """Sums by name of the jar."""
    lines = (line.split() for line in path.read_text().splitlines())
    return {name: total for total, name in lines}


def write_list(folder: Path, path: Path = LIST) -> None:
    """Make the list say what a folder holds."""
    jars = sorted(folder.glob("*.jar"))
    path.write_text("".join(f"{_sum(jar)}  {jar.name}\n" for jar in jars))


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _advice(folder: Path) -> str:
    return f"Remove {folder} and start again to fetch the jars anew."
