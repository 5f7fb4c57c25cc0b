"""Installs the broker: `python -m deploy.local.kafka.setup`, which `make setup` runs once.

Downloads and verifies the jars and creates the class archive; `--lock` records the checksums of the
newest allowed jars instead of verifying against the recorded ones.
"""

import shutil
import sys

from deploy.local.kafka.class_archive import create_class_archive
from deploy.local.kafka.jar_download import broker_jars, download_jars, resolve_coordinates
from deploy.local.kafka.jars import JAR_FOLDER, InvalidJar, write_checksums


def main() -> None:
    try:
        if "--lock" in sys.argv[1:]:
            shutil.rmtree(JAR_FOLDER, ignore_errors=True)
            coordinates = sorted(set(resolve_coordinates()))
            download_jars(coordinates, JAR_FOLDER, checksums=None)
            write_checksums(JAR_FOLDER, coordinates)
        jars = broker_jars()
    except InvalidJar as error:
        sys.exit(f"tidemark: {error}")
    print(f"broker: {len(jars)} jars verified, in {JAR_FOLDER}")
    create_class_archive(jars)


if __name__ == "__main__":
    main()
