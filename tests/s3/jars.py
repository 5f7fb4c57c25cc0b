"""Jars of the S3 server that tests start: pinned, verified before use, downloaded once.

`python -m tests.s3.jars` downloads them, which `make setup` does; with `--lock` it records their
checksums. They are the jars from which the server loads classes: its other dependencies are clients
of clouds that no test uses.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from deploy.local.kafka.jars import InvalidJar, read_checksums, verify_jars, write_checksums

CHECKSUM_FILE = Path(__file__).parents[2] / "deploy" / "locks" / "s3proxy-jars.sha256"
JAR_FOLDER = Path(sys.prefix) / "share" / "tidemark" / "s3proxy"

MAVEN_COORDINATES = (
    "org.gaul:s3proxy:4.1.0",
    "args4j:args4j:2.37",
    "ch.qos.logback:logback-classic:1.6.3",
    "ch.qos.logback:logback-core:1.6.3",
    "com.fasterxml.jackson.core:jackson-annotations:2.22",
    "com.fasterxml.woodstox:woodstox-core:7.0.0",
    "com.google.guava:guava:33.7.1-jre",
    "jakarta.servlet:jakarta.servlet-api:6.0.0",
    "org.codehaus.woodstox:stax2-api:4.2.2",
    "org.slf4j:slf4j-api:2.0.18",
    "software.amazon.awssdk:aws-core:2.54.2",
    "software.amazon.awssdk:checksums:2.54.2",
    "software.amazon.awssdk:checksums-spi:2.54.2",
    "software.amazon.awssdk:http-client-spi:2.54.2",
    "software.amazon.awssdk:s3:2.54.2",
    "software.amazon.awssdk:sdk-core:2.54.2",
    "software.amazon.awssdk:utils:2.54.2",
    "tools.jackson.core:jackson-core:3.2.2",
    "tools.jackson.core:jackson-databind:3.2.2",
    "tools.jackson.dataformat:jackson-dataformat-xml:3.2.2",
)


def server_jars() -> list[Path]:
    """The verified jars, downloaded when there are none yet."""
    checksums = read_checksums(CHECKSUM_FILE)
    if not JAR_FOLDER.is_dir():
        download_jars(checksums)
    verify_jars(JAR_FOLDER, checksums)
    return [JAR_FOLDER / name for name in sorted(checksums)]


def download_jars(checksums: dict[str, str] | None) -> None:
    """Download all jars, verify them, and move them to their folder only then."""
    JAR_FOLDER.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=JAR_FOLDER.parent, prefix="fetching-") as scratch:
        downloaded = Path(scratch) / "jars"
        downloaded.mkdir()
        for coordinate in MAVEN_COORDINATES:
            jar = _resolve(coordinate, Path(scratch))
            shutil.copy(jar, downloaded / jar.name)
        if checksums is not None:
            verify_jars(downloaded, checksums)
        try:
            downloaded.replace(JAR_FOLDER)
        except OSError:
            if not JAR_FOLDER.is_dir():  # else another process was faster
                raise


def _resolve(coordinate: str, scratch: Path) -> Path:
    from jgo.constants import MAVEN_CENTRAL_URL
    from jgo.maven import MavenContext

    group, name, version = coordinate.split(":")
    context = MavenContext(
        repo_cache=scratch / "repository", remote_repos={"central": MAVEN_CENTRAL_URL}
    )
    jar: Path = context.project(group, name).at_version(version).artifact().resolve()
    return jar


def main() -> None:
    try:
        if "--lock" in sys.argv[1:]:
            shutil.rmtree(JAR_FOLDER, ignore_errors=True)
            download_jars(None)
            write_checksums(JAR_FOLDER, CHECKSUM_FILE)
        print(f"S3 server: {len(server_jars())} jars verified, in {JAR_FOLDER}")
    except (InvalidJar, OSError) as error:
        sys.exit(f"tests: the S3 server cannot be installed: {error}")


if __name__ == "__main__":
    main()
