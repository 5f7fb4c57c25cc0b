"""Jars of the S3 server that tests start: pinned, verified before use, downloaded once.

`python -m tests.s3.jars` downloads them, which `make setup` does; with `--lock` it records their
checksums. They are the jars from which the server loads classes: its other dependencies are clients
of clouds that no test uses.
"""

import shutil
import sys
from pathlib import Path

from deploy.local.kafka.jars import (
    InvalidJar,
    download_jars,
    read_checksums,
    verify_jars,
    write_checksums,
)

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
        download_jars(MAVEN_COORDINATES, JAR_FOLDER, checksums)
    verify_jars(JAR_FOLDER, checksums)
    return [JAR_FOLDER / name for name in sorted(checksums)]


def main() -> None:
    try:
        if "--lock" in sys.argv[1:]:
            shutil.rmtree(JAR_FOLDER, ignore_errors=True)
            download_jars(MAVEN_COORDINATES, JAR_FOLDER, None)
            write_checksums(JAR_FOLDER, MAVEN_COORDINATES, CHECKSUM_FILE)
        print(f"S3 server: {len(server_jars())} jars verified, in {JAR_FOLDER}")
    except (InvalidJar, OSError) as error:
        sys.exit(f"tests: the S3 server cannot be installed: {error}")


if __name__ == "__main__":
    main()
