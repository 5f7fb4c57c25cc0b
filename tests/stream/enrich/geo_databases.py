"""Small place databases in each of the usual shapes, all of the same networks."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmdb_writer import MMDBWriter
from netaddr import IPSet

from tests.stream.enrich.golden_cases import GOLDEN

Networks = Sequence[tuple[str, str, str, str]]
"""Network, country, region and city."""


def networks() -> Networks:
    """Those of the golden cases."""
    found = tomllib.loads((GOLDEN / "location.toml").read_text())["network"]
    return [(one["network"], *one["place"]) for one in found]


def flat(country: str, region: str, city: str) -> dict[str, Any]:
    return {"country_code": country, "state1": region, "city": city}


def nested(country: str, region: str, city: str) -> dict[str, Any]:
    found: dict[str, Any] = {"country": {"iso_code": country, "names": {"en": "its name"}}}
    if region:
        found["subdivisions"] = [{"names": {"de": "auf Deutsch", "en": region}}]
    if city:
        found["city"] = {"geoname_id": 7, "names": {"en": city}}
    return found


def plain(country: str, region: str, city: str) -> dict[str, Any]:
    return {"country": country, "region": region, "city": city}


SHAPES: Mapping[str, Callable[[str, str, str], dict[str, Any]]] = {
    "flat": flat,
    "nested": nested,
    "plain": plain,
}


def write(path: Path, known: Mapping[str, dict[str, Any]], version: int = 6) -> Path:
    """A database that says these records of these networks; put in place by a rename."""
    writer = MMDBWriter(version, "tests", languages=["en"], ipv4_compatible=version == 6)
    for network, record in known.items():
        writer.insert_network(IPSet([network]), record)
    fresh = path.with_suffix(".new")
    writer.to_db_file(str(fresh))
    return fresh.replace(path)


def atlas(path: Path, shape: str) -> Path:
    """A database of the golden networks."""
    return write(path, {network: SHAPES[shape](*place) for network, *place in networks()})
