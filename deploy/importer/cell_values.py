"""Cells of foreign files as values of ours. None: the cell says nothing; ValueError: not to us."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from schemas.runtime.clock import instant_ms

NOTHING = frozenset(("", "null", "none", "(none)", "(not set)", "undefined", "\\n"))
DIRECT = frozenset(("direct", "(direct)", "$direct", "direct / none"))
PAGE_VIEWS = {"page_view": "pageview", "$pageview": "pageview"}
"""What others call a page view."""
DEVICES = {
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
WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def text(cell: Any) -> str | None:
    """Any scalar as text."""
    if cell is None or isinstance(cell, dict | list):
        return None
    said = str(cell).strip()
    return None if said.lower() in NOTHING else said


def event_name(cell: Any) -> str | None:
    said = text(cell)
    return PAGE_VIEWS.get(said, said) if said else None


def instant(cell: Any) -> int | float | str | None:
    """An instant: ISO 8601 as it is, numbers as milliseconds, whatever they count."""
    said = text(cell)
    if said is None:
        return None
    try:
        count = float(said)
    except ValueError:
        instant_ms(said)
        return said
    if count < 1e11:
        return round(count * 1000)
    return round(count) if count < 1e14 else round(count / 1000)


def number(cell: Any) -> float | None:
    said = text(cell)
    return None if said is None else float(said)


def whole(cell: Any) -> int | None:
    found = number(cell)
    return None if found is None else round(found)


def yes_or_no(cell: Any) -> bool | None:
    said = text(cell)
    if said is None:
        return None
    if said.lower() not in WORDS:
        raise ValueError("no yes or no")
    return WORDS[said.lower()]


def properties(cell: Any) -> Mapping[str, Any] | None:
    """An object, or one as JSON text."""
    found = json.loads(cell) if isinstance(cell, str) and cell.strip() else cell
    if not found:
        return None
    if not isinstance(found, dict):
        raise ValueError("no object")
    return found


def referrer(cell: Any) -> str | None:
    said = text(cell)
    return None if said is None or said.lower() in DIRECT else said


def device(cell: Any) -> str | None:
    said = text(cell)
    if said is None:
        return None
    if said.lower() not in DEVICES:
        raise ValueError("no device class")
    return DEVICES[said.lower()]


def country(cell: Any) -> str | None:
    """An ISO 3166 code, also from an English name."""
    said = text(cell)
    if said is None:
        return None
    if len(said) == 2 and said.isascii() and said.isalpha():
        return said.upper()
    code = _countries().get(said.lower())
    if code is None:
        raise ValueError("no country")
    return code


@cache
def _countries() -> dict[str, str]:
    lines = files("tzdata").joinpath("zoneinfo", "iso3166.tab").read_text().splitlines()
    named = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {name.lower(): code for code, name in named} | {
        "united kingdom": "GB",
        "south korea": "KR",
        "türkiye": "TR",
        "czechia": "CZ",
    }
