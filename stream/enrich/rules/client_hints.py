"""Client hints: what a Chromium browser says of itself beside a user agent that tells little.

Brands come in any order, and one of them is made up so that nobody relies on them (`Not?A_Brand`).
"""

import re

from msgspec import Struct

from schemas.envelope import CLIENT_HINTS

GENERIC_BRANDS = ("Chromium", "Chrome", "Android WebView", "Edge")
"""Brands by how little they tell, the least first: another one beside them is the browser."""

BRANDS = {
    "Google Chrome": "Chrome",
    "Microsoft Edge": "Edge",
    "Microsoft Edge WebView2": "Edge WebView2",
    "HeadlessChrome": "Headless Chrome",
    "YaBrowser": "Yandex Browser",
    "OperaMobile": "Opera",
    "Opera GX": "Opera",
}
PLATFORMS = {
    **{name: name for name in ("Android", "iOS", "Linux", "macOS", "Windows", "Fuchsia")},
    "Chrome OS": "ChromeOS",
    "Chromium OS": "ChromeOS",
}

MAX_BRAND_LENGTH = 40
"""Characters of a brand or version that are kept."""

_BRAND = re.compile(r'"((?:[^"\\]|\\.){0,60})"\s*;\s*v="([^"]*)"')
_NO_LETTER = re.compile(r"[^A-Za-z]+")


class ClientHints(Struct, frozen=True):
    """What the hints tell; empty where they do not."""

    brand: str = ""
    version: str = ""
    platform: str = ""
    platform_version: str = ""
    mobile: bool = False
    model: str = ""
    form_factors: str = ""
    """Quoted words: `"Mobile"`, `"Tablet", "EInk"`."""


def parse_client_hints(*sent: str | None) -> ClientHints:
    """The values of the headers HINTS, in their order."""
    told = dict(zip(CLIENT_HINTS, (value or "" for value in sent), strict=True))
    brand, version = best_brand(
        brands(told["sec-ch-ua-full-version-list"]) or brands(told["sec-ch-ua"])
    )
    return ClientHints(
        brand=brand,
        version=version,
        platform=PLATFORMS.get(unquoted(told["sec-ch-ua-platform"]), ""),
        platform_version=unquoted(told["sec-ch-ua-platform-version"]).replace("_", "."),
        mobile=told["sec-ch-ua-mobile"] == "?1",
        model=unquoted(told["sec-ch-ua-model"]),
        form_factors=told["sec-ch-ua-form-factors"],
    )


def brands(listed: str) -> list[tuple[str, str]]:
    """Brand and version of each entry, without the made-up one."""
    return [
        (BRANDS.get(brand, brand)[:MAX_BRAND_LENGTH], version[:MAX_BRAND_LENGTH])
        for brand, version in _BRAND.findall(listed)
        if brand and _NO_LETTER.sub("", brand).lower() != "notabrand"
    ]


def best_brand(listed: list[tuple[str, str]]) -> tuple[str, str]:
    """The brand that tells most, with its version."""
    return max(listed, key=lambda entry: _specificity(entry[0]), default=("", ""))


def unquoted(value: str) -> str:
    return value.strip().strip('"').strip()


def _specificity(brand: str) -> int:
    return GENERIC_BRANDS.index(brand) if brand in GENERIC_BRANDS else len(GENERIC_BRANDS)
