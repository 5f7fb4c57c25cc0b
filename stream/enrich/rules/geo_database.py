"""Location of an IP address from .mmdb files, reopened when they are replaced.

While a new file is broken or missing, the old one stays in use. A file must be replaced by a
rename, because writing into it changes the memory map of open readers. Records of the usual files:

| format                       | country            | region                     | city            |
|------------------------------|--------------------|----------------------------|-----------------|
| flat (`@ip-location-db`)     | `country_code`     | `state1`                   | `city`          |
| nested (MaxMind's, DB-IP's)  | `country.iso_code` | `subdivisions[0].names.en` | `city.names.en` |
| flat, `country` (IPinfo's)   | `country`          | `region`                   | `city`          |

Reserved IP ranges have no location: our own list, from IANA's special-purpose registries, because
the result of `ipaddress` depends on the version of Python for some ranges.
"""

import logging
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import maxminddb
from maxminddb.errors import InvalidDatabaseError
from msgspec import Struct

from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.time_zones import countries

MAX_PLACE_NAME_LENGTH = 128
"""Characters of a region's or city's name that are stored."""

HOSTING_KEYS = ("is_hosting_provider", "hosting", "is_hosting")


class Location(Struct, frozen=True):
    """Where a request came from; None where unknown."""

    country: str | None = None
    region: str | None = None
    city: str | None = None
    is_data_centre: bool = False
    """Whether the address belongs to a hosting provider."""


NO_LOCATION = Location()


def parse_record(record: dict[str, Any]) -> Location:
    """The location in a record of any format; unexpected values count as absent."""
    country = country_code(
        record.get("country_code")
        or _key(record.get("country"), "iso_code")
        or record.get("country")
    )
    if country is None:
        return NO_LOCATION
    region = record.get("state1") or _first_name(record.get("subdivisions")) or record.get("region")
    city = record.get("city")
    traits = record.get("traits")
    return Location(
        country,
        _text(region),
        # Some files add the district in brackets, which would split a city.
        _text(_name(city) if isinstance(city, dict) else city, end=" ("),
        any(
            part.get(name) is True
            for part in (record, traits)
            if isinstance(part, dict)
            for name in HOSTING_KEYS
        ),
    )


def country_code(value: object) -> str | None:
    """An ISO 3166 code in capitals; None for anything else (`XX`, `T1`, `EU`)."""
    code = value.strip().upper() if isinstance(value, str) else ""
    return code if code in countries() else None


def _text(value: object, end: str = "\n") -> str | None:
    return (
        value.partition(end)[0].strip()[:MAX_PLACE_NAME_LENGTH] or None
        if isinstance(value, str)
        else None
    )


def _key(part: object, key: str) -> object:
    return part.get(key) if isinstance(part, dict) else None


def _name(part: object) -> object:
    return _key(_key(part, "names"), "en")


def _first_name(parts: object) -> object:
    return _name(parts[0]) if isinstance(parts, list) and parts else None


log = logging.getLogger(__name__)

CHECK_SECONDS = 1.0
UNREADABLE = (OSError, InvalidDatabaseError, ValueError)

FileState = tuple[int, int, int] | None
"""Inode, size and modification time, which identify a state of a file; None without a file."""


class GeoFile:
    """One .mmdb file, with its state at the last check."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state: FileState = None
        self._reader: maxminddb.Reader | None = None

    def refresh(self) -> bool:
        """Open the file when it has changed; returns whether it was opened."""
        state = self._stat()
        if state == self._state:
            return False
        self._state = state
        try:
            self._reader = maxminddb.open_database(self.path)
        except UNREADABLE as error:
            log.warning(
                "geo database not readable", extra={"path": str(self.path), "reason": str(error)}
            )
            return False
        built = self._reader.metadata().build_epoch
        log.info("geo database loaded", extra={"path": str(self.path), "built": built})
        return True

    @property
    def is_open(self) -> bool:
        """Whether it could be opened at any time."""
        return self._reader is not None

    def find(self, address: str) -> Location:
        """The location of an address; NO_LOCATION when the file does not have it."""
        if self._reader is None:
            return NO_LOCATION
        try:
            record = self._reader.get(address)
        except ValueError:  # an IPv6 address, and a file of IPv4 alone
            return NO_LOCATION
        return parse_record(record) if isinstance(record, dict) else NO_LOCATION

    def _stat(self) -> FileState:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns


class GeoDatabase:
    """Looks up addresses; the first file that has a country wins. Without files: NO_LOCATION."""

    def __init__(
        self, paths: Sequence[Path] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._files = [GeoFile(path) for path in paths]
        self._clock = clock
        self._checked_at = clock()
        self.locations: GenerationalCache[str, Location] = GenerationalCache(self.find)
        """Cache of locations by address; replaced with the files."""
        self._refresh()

    def refresh(self) -> None:
        """Check for replaced files, at most once a second."""
        now = self._clock()
        if self._files and now - self._checked_at >= CHECK_SECONDS:
            self._checked_at = now
            self._refresh()

    def unreadable_files(self) -> list[Path]:
        """Files that have never been opened."""
        return [file.path for file in self._files if not file.is_open]

    def find(self, address: str) -> Location:
        """The location of an address; NO_LOCATION unless it is public."""
        if not self._files or is_reserved(address):
            return NO_LOCATION
        locations = (file.find(address) for file in self._files)
        return next((location for location in locations if location.country), NO_LOCATION)

    def _refresh(self) -> None:
        opened = [file.refresh() for file in self._files]
        if any(opened):
            self.locations = GenerationalCache(self.find)


IPV4 = (
    "0.0.0.0/8",  # this network
    "10.0.0.0/8",  # private
    "100.64.0.0/10",  # behind a carrier's NAT
    "127.0.0.0/8",  # loopback
    "169.254.0.0/16",  # link-local
    "172.16.0.0/12",  # private
    "192.0.0.0/24",  # protocol assignments
    "192.0.2.0/24",  # documentation
    "192.88.99.0/24",  # 6to4 relays
    "192.168.0.0/16",  # private
    "198.18.0.0/15",  # benchmarks
    "198.51.100.0/24",  # documentation
    "203.0.113.0/24",  # documentation
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved, broadcast
)
IPV6 = (
    "::/3",  # unspecified, loopback, mapped IPv4, NAT64, discard: all before global unicast
    "2001::/23",  # Teredo, benchmarks, ORCHID
    "2001:db8::/32",  # documentation
    "2002::/16",  # 6to4
    "3fff::/20",  # documentation
    "4000::/2",  # nothing of what follows is global unicast:
    "8000::/1",  # unique local, link-local, multicast
)


class NetworkRanges:
    """Networks in ascending order that do not overlap."""

    def __init__(self, listed: tuple[str, ...]) -> None:
        networks = [ip_network(text) for text in listed]
        self._first = [int(network[0]) for network in networks]
        self._last = [int(network[-1]) for network in networks]

    def contains(self, address: int) -> bool:
        index = bisect_right(self._first, address) - 1
        return index >= 0 and address <= self._last[index]


_ranges = {4: NetworkRanges(IPV4), 6: NetworkRanges(IPV6)}


def is_reserved(address: str) -> bool:
    """Whether an address has no location; also for text that is no address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return True
    return _ranges[parsed.version].contains(int(parsed))
