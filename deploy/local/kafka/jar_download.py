"""Fetches the broker's jars: `python -m deploy.local.kafka.jar_download`, which `make setup` runs
once.
"""

import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from jgo.constants import MAVEN_CENTRAL_URL
from jgo.env import EnvironmentBuilder, LinkStrategy
from jgo.maven import MavenContext

from deploy.local.kafka.class_archive import create_class_archive
from deploy.local.kafka.jars import (
    JAR_FOLDER,
    InvalidJar,
    broker_jars,
    verify_jars,
    write_checksums,
)

# Two resolutions: asked for in one, the logger's own dependencies would choose Kafka's versions.
MAVEN_COORDINATES = ("org.apache.kafka:kafka_2.13:4.2.1", "org.slf4j:slf4j-simple:1.7.36")


def download_jars(folder: Path, listed: Mapping[str, str] | None) -> None:
    """Fetch all jars, check them, and only then let them appear under `folder`."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Beside the folder, so that the last step is one rename and nothing is left in a home folder.
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetching-") as scratch:
        arrived = Path(scratch) / "jars"
        arrived.mkdir()
        try:
            for coordinate in MAVEN_COORDINATES:
                for jar in _resolve(coordinate, Path(scratch)):
                    shutil.copy(jar, arrived / jar.name)
        except OSError as away:  # no network, no such file, no room
            raise InvalidJar(f"the broker's jars cannot be fetched: {away}") from None
        if listed is not None:
            verify_jars(arrived, listed)
        arrived.replace(folder)


def _resolve(coordinate: str, scratch: Path) -> list[Path]:
    context = MavenContext(
        repo_cache=scratch / "repository",
        remote_repos={"central": MAVEN_CENTRAL_URL},
    )
    builder = EnvironmentBuilder(
        context=context, cache_dir=scratch / "environments", link_strategy=LinkStrategy.HARD
    )
    return [Path(jar) for jar in builder.from_endpoint(coordinate).all_jars]


def main() -> None:
    """Fetch and check, and make the archive; with `--lock` write the list anew."""
    try:
        if "--lock" in sys.argv[1:]:
            shutil.rmtree(JAR_FOLDER, ignore_errors=True)
            download_jars(JAR_FOLDER, listed=None)
            write_checksums(JAR_FOLDER)
        jars = broker_jars()
    except InvalidJar as refused:
        sys.exit(f"tidemark: {refused}")
    print(f"broker: {len(jars)} jars checked, in {JAR_FOLDER}")
    create_class_archive(jars)


if __name__ == "__main__":
    main()
