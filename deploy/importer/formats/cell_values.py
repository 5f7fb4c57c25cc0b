"""Parses cells of imported files. None: empty cell; ValueError: value not recognized.

InvalidLine is what the line around them ends with when it is no event at all.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from schemas.runtime.clock import parse_instant_ms

EMPTY_WORDS = frozenset(("", "null", "none", "(none)", "(not set)", "undefined", "\\n"))
DIRECT_WORDS = frozenset(("direct", "(direct)", "$direct", "direct / none"))
PAGE_NAMES = {"page_view": "pageview", "$pageview": "pageview", "$pageleave": "page_exit"}
"""Names that other products use for a page view and for its end."""
DEVICE_WORDS = {
    "desktop": "desktop",
    "laptop": "desktop",
    "ultra-wide": "desktop",
    "mobile": "mobile",
    "smartphone": "mobile",
    "phone": "mobile",
    "phablet": "mobile",
    "feature phone": "mobile",
    "tablet": "tablet",
    "tv": "tv",
    "smart tv": "tv",
    "smarttv": "tv",
    "television": "tv",
}
UNKNOWN_COUNTRIES = frozenset(("xx", "zz"))
UTC_WORDS = re.compile(r"\s*(UTC|GMT)$", re.IGNORECASE)
END_OF_DAY = re.compile(r"(\d{4}-\d\d-\d\d)[T ]24:00(?::00(?:\.0+)?)?(Z|[+-].+|)")
"""Midnight at the end of a day, in ISO 8601."""
DAY_MS = 86_400_000
BOOLEAN_WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


class InvalidLine(Exception):
    """The line is no event; the message says why."""


def parse_text(cell: Any) -> str | None:
    """Any scalar as text."""
    if cell is None or isinstance(cell, dict | list):
        return None
    text = str(cell).strip(" \t\r\n\0")  # ClickHouse pads texts of a fixed length with NUL
    return None if text.lower() in EMPTY_WORDS else text


def parse_event_name(cell: Any) -> str | None:
    text = parse_text(cell)
    return PAGE_NAMES.get(text, text) if text else None


def parse_instant(cell: Any) -> int | float | str | None:
    """A time: ISO 8601; Unix seconds, milliseconds or microseconds as milliseconds."""
    text = parse_text(cell)
    if text is None:
        return None
    try:
        count = float(text)
    except ValueError:
        text = UTC_WORDS.sub("Z", text)
        if midnight := END_OF_DAY.fullmatch(text):
            return parse_instant_ms(f"{midnight[1]}T00:00:00{midnight[2]}") + DAY_MS
        parse_instant_ms(text)
        return text
    if count < 1e11:
        return round(count * 1000)
    return round(count) if count < 1e14 else round(count / 1000)


def parse_number(cell: Any) -> float | None:
    text = parse_text(cell)
    return None if text is None else float(text)


def parse_integer(cell: Any) -> int | None:
    value = parse_number(cell)
    return None if value is None else round(value)


def parse_boolean(cell: Any) -> bool | None:
    text = parse_text(cell)
    if text is None:
        return None
    if text.lower() not in BOOLEAN_WORDS:
        raise ValueError("not a boolean")
    return BOOLEAN_WORDS[text.lower()]


def parse_session(cell: Any) -> str | None:
    """A session id; -1 is what Amplitude writes outside of sessions."""
    text = parse_text(cell)
    return None if text == "-1" else text


def parse_json(text: str) -> Any:
    """The value of JSON text; ValueError also where it is nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_properties(cell: Any) -> Mapping[str, Any] | None:
    """A JSON object, also as JSON text."""
    value = parse_json(cell) if isinstance(cell, str) and cell.strip() else cell
    if not value:
        return None
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def parse_referrer(cell: Any) -> str | None:
    text = parse_text(cell)
    return None if text is None or text.lower() in DIRECT_WORDS else text


def parse_device(cell: Any) -> str | None:
    text = parse_text(cell)
    if text is None:
        return None
    if text.lower() not in DEVICE_WORDS:
        raise ValueError("not a device type")
    return DEVICE_WORDS[text.lower()]


def parse_country(cell: Any) -> str | None:
    """An ISO 3166 code, also from an English country name."""
    text = parse_text(cell)
    if text is None or text.lower() in UNKNOWN_COUNTRIES:
        return None
    if len(text) == 2 and text.isascii() and text.isalpha():
        return text.upper()
    code = _country_codes().get(text.lower().replace("'", "\N{RIGHT SINGLE QUOTATION MARK}"))
    if code is None:
        raise ValueError("not a country")
    return code


@cache
def _country_codes() -> dict[str, str]:
    lines = files("tzdata").joinpath("zoneinfo", "iso3166.tab").read_text().splitlines()
    named = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {name.lower(): code for code, name in named} | OTHER_COUNTRY_NAMES


OTHER_COUNTRY_NAMES = {
    "american samoa": "AS",
    "british virgin islands": "VG",
    "caribbean netherlands": "BQ",
    "congo - brazzaville": "CG",
    "congo - kinshasa": "CD",
    "czechia": "CZ",
    "eswatini": "SZ",
    "falkland islands (islas malvinas)": "FK",
    "ivory coast": "CI",
    "kosovo": "XK",
    "macao": "MO",
    "macedonia": "MK",
    "myanmar": "MM",
    "north korea": "KP",
    "samoa": "WS",
    "sint maarten": "SX",
    "south korea": "KR",
    "st. barthélemy": "BL",
    "st. helena": "SH",
    "st. kitts & nevis": "KN",
    "st. lucia": "LC",
    "st. martin": "MF",
    "st. pierre & miquelon": "PM",
    "st. vincent & grenadines": "VC",
    "são tomé & príncipe": "ST",
    "turks & caicos islands": "TC",
    "türkiye": "TR",
    "u.s. virgin islands": "VI",
    "united kingdom": "GB",
}
"""Names of Google Analytics that the list of the time zone database spells differently."""
