"""Downloads the broker's jars from Maven Central, and verifies them before they are used."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from deploy.local.kafka.jars import (
    JAR_FOLDER,
    InvalidJar,
    read_checksums,
    read_coordinates,
    verify_jars,
)

# Resolved one after the other: together, the logger's dependencies would choose Kafka's versions.
MAVEN_COORDINATES = ("org.apache.kafka:kafka_2.13:4.2.1", "org.slf4j:slf4j-simple:1.7.36")
DOWNLOADS = 8
"""Downloads at the same time: most of their time is waiting."""


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
