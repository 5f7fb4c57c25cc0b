"""URL schemes of apps that a setting allows as targets of links."""

import re

SCHEME_PATTERN = re.compile(r"[a-z][a-z0-9+.-]{0,40}")
UNSAFE_SCHEMES = frozenset(
    {"javascript", "data", "vbscript", "file", "blob", "about", "view-source"}
)
"""Schemes that run code, or show content of the URL or of the visitor's machine."""


def parse_app_schemes(text: str) -> tuple[str, ...]:
    """Schemes of a comma-separated setting; ValueError names an invalid or unsafe one."""
    schemes = tuple(part.strip().lower() for part in text.split(",") if part.strip())
    for scheme in schemes:
        if not SCHEME_PATTERN.fullmatch(scheme) or scheme in UNSAFE_SCHEMES:
            raise ValueError(f"'{scheme}' is not allowed as an app scheme")
    return schemes
