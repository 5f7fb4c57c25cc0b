"""Downloads the broker's jars from Maven Central, and verifies them before they are used."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from deploy.local.kafka.jars import JAR_FOLDER, InvalidJar, read_checksums, verify_jars

# Resolved one after the other: together, the logger's dependencies would choose Kafka's versions.
MAVEN_COORDINATES = ("org.apache.kafka:kafka_2.13:4.2.1", "org.slf4j:slf4j-simple:1.7.36")


def broker_jars(folder: Path = JAR_FOLDER, expected: Mapping[str, str] | None = None) -> list[Path]:
    """The verified jars, downloaded when there are none yet."""
    checksums = read_checksums() if expected is None else expected
    if not folder.is_dir():
        download_jars(folder, checksums)
    verify_jars(folder, checksums)
    return [folder / name for name in sorted(checksums)]


def download_jars(folder: Path, checksums: Mapping[str, str] | None) -> None:
    """Download all jars, verify them, and move them to `folder` only then."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    # In the parent folder, so that the last step is one rename and the home folder stays clean.
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetching-") as scratch:
        downloaded = Path(scratch) / "jars"
        downloaded.mkdir()
        try:
            for coordinate in MAVEN_COORDINATES:
                for jar in _resolve(coordinate, Path(scratch)):
                    shutil.copy(jar, downloaded / jar.name)
        except OSError as error:  # no network, no such file, disk full
            raise InvalidJar(f"the broker's jars cannot be downloaded: {error}") from None
        if checksums is not None:
            verify_jars(downloaded, checksums)
        downloaded.replace(folder)


def _resolve(coordinate: str, scratch: Path) -> list[Path]:
    # Imported here, because only a first start needs them.
    from jgo.constants import MAVEN_CENTRAL_URL
    from jgo.env import EnvironmentBuilder, LinkStrategy
    from jgo.maven import MavenContext

    context = MavenContext(
        repo_cache=scratch / "repository",
        remote_repos={"central": MAVEN_CENTRAL_URL},
    )
    builder = EnvironmentBuilder(
        context=context, cache_dir=scratch / "environments", link_strategy=LinkStrategy.HARD
    )
    return [Path(jar) for jar in builder.from_endpoint(coordinate).all_jars]
