"""The broker's jars: fetched once, kept in the environment, and each one checked before it is run.

`deploy/locks/kafka-jars.sha256` names every jar with its sum. What is not on the list, or does not
have the sum that the list gives, is never put on a class path.
"""

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from jgo.constants import MAVEN_CENTRAL_URL
from jgo.env import EnvironmentBuilder, LinkStrategy
from jgo.maven import MavenContext

# Two resolutions: asked for in one, the logger's own dependencies would choose Kafka's versions.
COORDINATES = ("org.apache.kafka:kafka_2.13:4.2.1", "org.slf4j:slf4j-simple:1.7.36")

LIST = Path(__file__).parents[1] / "locks" / "kafka-jars.sha256"
FOLDER = Path(sys.prefix) / "share" / "tidemark" / "kafka"


class JarRefused(Exception):
    """A jar is missing, not on the list, or not the one that the list means."""


def broker_jars(folder: Path = FOLDER, expected: Mapping[str, str] | None = None) -> list[Path]:
    """The checked jars, fetched when there are none yet."""
    listed = read_list() if expected is None else expected
    if not folder.is_dir():
        fetch(folder, listed)
    check(folder, listed)
    return [folder / name for name in sorted(listed)]


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


def fetch(folder: Path, listed: Mapping[str, str] | None) -> None:
    """Fetch all jars, check them, and only then let them appear under `folder`."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Beside the folder, so that the last step is one rename and nothing is left in a home folder.
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetching-") as scratch:
        arrived = Path(scratch) / "jars"
        arrived.mkdir()
        for coordinate in COORDINATES:
            for jar in _resolve(coordinate, Path(scratch)):
                shutil.copy(jar, arrived / jar.name)
        if listed is not None:
            check(arrived, listed)
        arrived.replace(folder)


def read_list(path: Path = LIST) -> dict[str, str]:
    """Sums by name of the jar."""
    lines = (line.split() for line in path.read_text().splitlines())
    return {name: total for total, name in lines}


def write_list(folder: Path, path: Path = LIST) -> None:
    """Make the list say what a folder holds."""
    jars = sorted(folder.glob("*.jar"))
    path.write_text("".join(f"{_sum(jar)}  {jar.name}\n" for jar in jars))


def _resolve(coordinate: str, scratch: Path) -> list[Path]:
    context = MavenContext(
        repo_cache=scratch / "repository",
        remote_repos={"central": MAVEN_CENTRAL_URL},
    )
    builder = EnvironmentBuilder(
        context=context, cache_dir=scratch / "environments", link_strategy=LinkStrategy.HARD
    )
    return [Path(jar) for jar in builder.from_endpoint(coordinate).all_jars]


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _advice(folder: Path) -> str:
    return f"Remove {folder} and start again to fetch the jars anew."


def main() -> None:
    """`python -m deploy.local.jars`: fetch and check; with `--lock`: write the list anew."""
    if "--lock" in sys.argv[1:]:
        shutil.rmtree(FOLDER, ignore_errors=True)
        fetch(FOLDER, listed=None)
        write_list(FOLDER)
    try:
        jars = broker_jars()
    except JarRefused as refused:
        raise SystemExit(f"tidemark: {refused}") from None
    print(f"broker: {len(jars)} jars checked, in {FOLDER}")


if __name__ == "__main__":
    main()
