"""Downloads the broker's jars and verifies them against deploy/locks/kafka-jars.sha256.

A jar that is not listed there, or has another checksum, is never put on a class path.
"""

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CHECKSUM_FILE = Path(__file__).parents[2] / "locks" / "kafka-jars.sha256"
JAR_FOLDER = Path(sys.prefix) / "share" / "tidemark" / "kafka"
CLASS_ARCHIVE = JAR_FOLDER.with_suffix(".jsa")
"""The class archive; see `deploy.local.kafka.setup`."""

# Resolved one after the other: together, the logger's dependencies would choose Kafka's versions.
MAVEN_COORDINATES = ("org.apache.kafka:kafka_2.13:4.2.1", "org.slf4j:slf4j-simple:1.7.36")
DOWNLOADS = 8
"""Downloads at the same time: most of their time is waiting."""


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


def broker_jars(folder: Path = JAR_FOLDER, expected: Mapping[str, str] | None = None) -> list[Path]:
    """The verified jars, downloaded when there are none yet."""
    checksums = read_checksums() if expected is None else expected
    if not folder.is_dir():
        download_jars(read_coordinates(), folder, checksums)
    verify_jars(folder, checksums)
    return [folder / name for name in sorted(checksums)]


def download_jars(
    coordinates: Iterable[str], folder: Path, checksums: Mapping[str, str] | None
) -> None:
    """Download all jars, verify them, and move them to `folder` only then."""
    # Imported here, because only a first start needs them.
    from jgo.constants import MAVEN_CENTRAL_URL
    from jgo.maven import MavenContext

    def download(coordinate: str) -> None:
        group, name, version = coordinate.split(":")
        jar: Path = context.project(group, name).at_version(version).artifact().resolve()
        shutil.copy(jar, downloaded / jar.name)

    folder.parent.mkdir(parents=True, exist_ok=True)
    # In the parent folder, so that the last step is one rename and the home folder stays clean.
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetching-") as scratch:
        downloaded = Path(scratch) / "jars"
        downloaded.mkdir()
        context = MavenContext(
            repo_cache=Path(scratch) / "repository", remote_repos={"central": MAVEN_CENTRAL_URL}
        )
        try:
            with ThreadPoolExecutor(DOWNLOADS) as threads:
                list(threads.map(download, coordinates))
        except OSError as error:  # no network, no such file, disk full
            raise InvalidJar(f"the jars cannot be downloaded: {error}") from None
        if checksums is not None:
            verify_jars(downloaded, checksums)
        try:
            downloaded.replace(folder)
        except OSError:
            if not folder.is_dir():  # else another process was faster
                raise


def resolve_coordinates() -> Iterator[str]:
    """Coordinates of `MAVEN_COORDINATES` and of everything that they depend on."""
    from jgo.constants import MAVEN_CENTRAL_URL
    from jgo.env import EnvironmentBuilder
    from jgo.maven import MavenContext

    with tempfile.TemporaryDirectory() as scratch:
        repository = Path(scratch) / "repository"
        context = MavenContext(repo_cache=repository, remote_repos={"central": MAVEN_CENTRAL_URL})
        builder = EnvironmentBuilder(context=context, cache_dir=Path(scratch) / "environments")
        for coordinate in MAVEN_COORDINATES:
            for jar in builder.from_endpoint(coordinate).all_jars:
                [path] = repository.rglob(Path(jar).name)
                *group, name, version, _ = path.relative_to(repository).parts
                yield f"{'.'.join(group)}:{name}:{version}"
