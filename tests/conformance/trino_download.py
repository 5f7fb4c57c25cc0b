"""The Trino server that `make conformance` starts: pinned, verified, downloaded once.

Of its plugins the Delta Lake connector and resource groups are kept: 405 MB of 1.2 GB. 476 is the
last version of which Maven Central has the whole server.
"""

import hashlib
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

from deploy.local.kafka.jars import InvalidJar, read_checksums

VERSION = "476"
CHECKSUM_FILE = Path(__file__).parents[2] / "deploy" / "locks" / "trino-server.sha256"
FOLDER = Path(sys.prefix) / "share" / "tidemark" / f"trino-{VERSION}"
PLUGINS = frozenset(("delta-lake", "resource-group-managers"))


def trino_folder() -> Path:
    """The folder of the server, downloaded when there is none with these plugins yet."""
    if not all((FOLDER / "plugin" / plugin).is_dir() for plugin in PLUGINS):
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER.parent, prefix="fetching-") as scratch:
            _install(_verified(_download(Path(scratch))), Path(scratch))
    return FOLDER


def _download(scratch: Path) -> Path:
    from jgo.constants import MAVEN_CENTRAL_URL
    from jgo.maven import MavenContext

    context = MavenContext(
        repo_cache=scratch / "repository", remote_repos={"central": MAVEN_CENTRAL_URL}
    )
    component = context.project("io.trino", "trino-server").at_version(VERSION)
    archive: Path = component.artifact(packaging="tar.gz").resolve()
    return archive


def _verified(archive: Path) -> Path:
    expected = read_checksums(CHECKSUM_FILE)[archive.name]
    with archive.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != expected:
        raise InvalidJar(
            f"{archive.name} has sha256 {actual}, but {CHECKSUM_FILE.name} lists {expected}; "
            "run the command again to download it once more"
        )
    return archive


def _install(archive: Path, scratch: Path) -> None:
    """Unpack everything, since plugins share files as links, and keep what is needed."""
    with tarfile.open(archive) as tar:
        tar.extractall(scratch / "unpacked", filter="data")
    server = scratch / "unpacked" / f"trino-server-{VERSION}"
    for plugin in (server / "plugin").iterdir():
        if plugin.name not in PLUGINS:
            shutil.rmtree(plugin)
    server.replace(FOLDER)


def main() -> None:
    try:
        print(f"Trino {VERSION}: verified, in {trino_folder()}")
    except (InvalidJar, OSError) as error:
        sys.exit(f"tests: Trino cannot be installed: {error}")


if __name__ == "__main__":
    main()
