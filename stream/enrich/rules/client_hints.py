"""User-Agent Client Hints of Chromium browsers.

Brands come in any order, and one of them is made up on purpose (`Not?A_Brand`).
"""

import re

from msgspec import Struct

from schemas.envelope import CLIENT_HINTS

GENERIC_BRANDS = ("Chromium", "Chrome", "Android WebView", "Edge")
"""Generic brands, the least specific first: any other brand in the list names the browser."""

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
"""Characters of a brand or version that are stored."""

_BRAND = re.compile(r'"((?:[^"\\]|\\.){0,60})"\s*;\s*v="([^"]*)"')
_NO_LETTER = re.compile(r"[^A-Za-z]+")


class ClientHints(Struct, frozen=True):
    """Values of the hints; empty where absent."""

    brand: str = ""
    version: str = ""
    platform: str = ""
    platform_version: str = ""
    mobile: bool = False
    model: str = ""
    form_factors: str = ""
    """Quoted words: `"Mobile"`, `"Tablet", "EInk"`."""


def parse_client_hints(*sent: str | None) -> ClientHints:
    """Parses the values of the headers CLIENT_HINTS, in their order."""
    headers = dict(zip(CLIENT_HINTS, (value or "" for value in sent), strict=True))
    brand, version = best_brand(
        brands(headers["sec-ch-ua-full-version-list"]) or brands(headers["sec-ch-ua"])
    )
    return ClientHints(
        brand=brand,
        version=version,
        platform=PLATFORMS.get(unquoted(headers["sec-ch-ua-platform"]), ""),
        platform_version=unquoted(headers["sec-ch-ua-platform-version"]).replace("_", "."),
        mobile=headers["sec-ch-ua-mobile"] == "?1",
        model=unquoted(headers["sec-ch-ua-model"]),
        form_factors=headers["sec-ch-ua-form-factors"],
    )


def brands(listed: str) -> list[tuple[str, str]]:
    """Brand and version of each entry, without the made-up brand."""
    return [
        (BRANDS.get(brand, brand)[:MAX_BRAND_LENGTH], version[:MAX_BRAND_LENGTH])
        for brand, version in _BRAND.findall(listed)
        if brand and _NO_LETTER.sub("", brand).lower() != "notabrand"
    ]


def best_brand(listed: list[tuple[str, str]]) -> tuple[str, str]:
    """The most specific brand, with its version."""
    return max(listed, key=lambda entry: _specificity(entry[0]), default=("", ""))


def unquoted(value: str) -> str:
    return value.strip().strip('"').strip()


def _specificity(brand: str) -> int:
    return GENERIC_BRANDS.index(brand) if brand in GENERIC_BRANDS else len(GENERIC_BRANDS)
