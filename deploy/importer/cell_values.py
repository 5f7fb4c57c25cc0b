"""Parses cells of imported files. None: empty cell; ValueError: value not recognised."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from schemas.runtime.clock import parse_instant_ms

EMPTY_WORDS = frozenset(("", "null", "none", "(none)", "(not set)", "undefined", "\\n"))
DIRECT_WORDS = frozenset(("direct", "(direct)", "$direct", "direct / none"))
PAGE_VIEW_NAMES = {"page_view": "pageview", "$pageview": "pageview"}
"""Names that other products use for a page view."""
DEVICE_WORDS = {
    "desktop": "desktop",
    "laptop": "desktop",
    "mobile": "mobile",
    "smartphone": "mobile",
    "phone": "mobile",
    "tablet": "tablet",
    "tv": "tv",
    "smart tv": "tv",
    "smarttv": "tv",
}
BOOLEAN_WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def parse_text(cell: Any) -> str | None:
    """Any scalar as text."""
    if cell is None or isinstance(cell, dict | list):
        return None
    said = str(cell).strip()
    return None if said.lower() in EMPTY_WORDS else said


def parse_event_name(cell: Any) -> str | None:
    said = parse_text(cell)
    return PAGE_VIEW_NAMES.get(said, said) if said else None


def parse_instant(cell: Any) -> int | float | str | None:
    """A time: ISO 8601 unchanged; Unix seconds, milliseconds or microseconds as milliseconds."""
    said = parse_text(cell)
    if said is None:
        return None
    try:
        count = float(said)
    except ValueError:
        parse_instant_ms(said)
        return said
    if count < 1e11:
        return round(count * 1000)
    return round(count) if count < 1e14 else round(count / 1000)


def parse_number(cell: Any) -> float | None:
    said = parse_text(cell)
    return None if said is None else float(said)


def parse_integer(cell: Any) -> int | None:
    found = parse_number(cell)
    return None if found is None else round(found)


def parse_boolean(cell: Any) -> bool | None:
    said = parse_text(cell)
    if said is None:
        return None
    if said.lower() not in BOOLEAN_WORDS:
        raise ValueError("not a boolean")
    return BOOLEAN_WORDS[said.lower()]


def parse_properties(cell: Any) -> Mapping[str, Any] | None:
    """A JSON object, also as JSON text."""
    found = json.loads(cell) if isinstance(cell, str) and cell.strip() else cell
    if not found:
        return None
    if not isinstance(found, dict):
        raise ValueError("not an object")
    return found


def parse_referrer(cell: Any) -> str | None:
    said = parse_text(cell)
    return None if said is None or said.lower() in DIRECT_WORDS else said


def parse_device(cell: Any) -> str | None:
    said = parse_text(cell)
    if said is None:
        return None
    if said.lower() not in DEVICE_WORDS:
        raise ValueError("not a device type")
    return DEVICE_WORDS[said.lower()]


def parse_country(cell: Any) -> str | None:
    """An ISO 3166 code, also from an English country name."""
    said = parse_text(cell)
    if said is None:
        return None
    if len(said) == 2 and said.isascii() and said.isalpha():
        return said.upper()
    code = _country_codes().get(said.lower())
    if code is None:
        raise ValueError("not a country")
    return code


@cache
def _country_codes() -> dict[str, str]:
    lines = files("tzdata").joinpath("zoneinfo", "iso3166.tab").read_text().splitlines()
    named = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {name.lower(): code for code, name in named} | {
        "united kingdom": "GB",
        "south korea": "KR",
        "türkiye": "TR",
        "czechia": "CZ",
    }
