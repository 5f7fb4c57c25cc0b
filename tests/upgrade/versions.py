"""Source trees of two versions: this one, and one of an earlier commit."""

import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

from msgspec import Struct

from tests.installation import ROOT

FIRST_VERSION = "884cc007"
"""The last commit before the first release: its registry is the oldest that is migrated."""
BUILT = ("ingest/web/dist", "schemas/http/docs/dist", "query/web/dist")
"""Files that a build makes; an older version serves those of this one."""


class NoHistory(Exception):
    """The commit is not there: the checkout has no history, or no git."""


class Version(Struct, frozen=True):
    """A source tree, and what to call it."""

    name: str
    tree: Path

    @property
    def drains(self) -> bool:
        """Whether its services finish requests on open connections before they end."""
        folder = self.tree / "schemas" / "http"
        health = folder / "health.py"
        return (folder / "drain.py").exists() or "class Drain" in health.read_text()

    def command(self, module: str, *arguments: str) -> list[str]:
        """Runs a module of this tree with the packages of this environment."""
        return [sys.executable, "-m", module, *arguments]


def this_version() -> Version:
    """The tree in which this module lies."""
    return Version("new", ROOT)


def unpack(commit: str, folder: Path) -> Version:
    """The tree of a commit in a folder; NoHistory when there is no such commit."""
    archive = _git("archive", "--format=tar", commit)
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    for name in BUILT:
        target = folder / name
        if (ROOT / name).exists() and target.parent.exists():
            target.symlink_to(ROOT / name)
    return Version("old", folder)


def describe(commit: str) -> str:
    """Short id, date and subject of a commit."""
    return _git("show", "-s", "--format=%h of %cs, %s", commit).decode().strip()


def _git(*arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True)
    except FileNotFoundError:
        raise NoHistory("git is not installed") from None
    except subprocess.CalledProcessError as error:
        raise NoHistory(error.stderr.decode().strip()) from None
    return done.stdout
