"""The script tag that a page of a website needs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from urllib.parse import urlsplit

from schemas.errors import Malformed
from schemas.registry import Website

MAIN_SCRIPT = "tidemark"
EXTRA_SCRIPTS: Mapping[str, str] = {
    "vitals": "Also measure web vitals.",
    "errors": "Also report uncaught errors.",
    "performance": "Also measure load times.",
    "engagement": "Also report interactions, rage and dead clicks, and abandoned forms.",
    "downloads": "Also track downloads of files.",
    "404": "Also track pages that do not exist.",
}
"""Further scripts, which the main script loads, by name: what each adds."""
PERSIST = "data-persist"
"""Attribute by which visitor and session ids are kept in localStorage."""


def main_tag(base: str, website: Website, extras: Sequence[str] = (), persist: bool = False) -> str:
    """The tag of the main script, which loads the extra ones; `base` is the collector's URL."""
    attributes = (*tag_attributes(website, persist), *(f"data-{extra}" for extra in extras))
    return script_tag(f"{base}/{MAIN_SCRIPT}.js", website.id, *attributes)


def tag_attributes(website: Website, persist: bool) -> Iterator[str]:
    """The attributes of every script: whether ids are kept, and what the privacy asks for."""
    if persist:
        yield PERSIST
    if website.privacy.consent == "required":
        yield 'data-consent="required"'
    if website.privacy.global_privacy_control == "anonymous":
        yield "data-gpc"  # else the script sends nothing from such browsers


def script_tag(source: str, website_id: str, *attributes: str) -> str:
    """One script tag."""
    named = (f'src="{escape(source)}"', f'data-website-id="{escape(website_id)}"', *attributes)
    return f"<script defer {' '.join(named)}></script>"


def validate_collect_url(url: str) -> str:
    """A URL of the collector, or a path of the site, without a slash at the end; Malformed."""
    if not re.fullmatch(r"/([^/\s]\S*)?", url) and not _is_web_url(url):
        raise Malformed(
            f"'{url[:200]}' is neither an http or https URL, such as https://t.shop.example, nor a "
            "path of the site, such as /t"
        )
    return url.rstrip("/")


def _is_web_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
    except ValueError:
        return False
    return bool(known) and re.search(r"\s", url) is None
