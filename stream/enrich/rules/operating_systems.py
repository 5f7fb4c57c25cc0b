"""Operating system and version, without versions that browsers froze.

Browsers report fixed versions of the system: 10 for Windows 11, 10.15.7 for every Mac, `10; K` for
Chrome on Android, 18.6 or 18.7 for iOS 26. Such a version counts as unknown, unless a client hint
has the real one.
"""

import re

from stream.enrich.rules.client_hints import ClientHints
from stream.enrich.rules.user_agent_parser import OS_NAMES, UNVERSIONED, user_agent_parser

LINUX = "Linux"
FROZEN_VERSIONS = (
    ("Windows", r"Windows NT 10\.0"),
    ("macOS", r"Mac OS X 10[._]15(?:[._]7)?[;)]"),
    ("Android", r"Android 10; (?:K\)|(?:Mobile|Tablet); rv:)"),
    ("iOS", r"OS 18_[67] like(?!.*Version/18)"),
    ("ChromeOS", r"CrOS \S+ 14541\.0\.0\)"),
)
"""Patterns of user agents with a frozen version."""

_frozen = {name: re.compile(rule) for name, rule in FROZEN_VERSIONS}
_SAFARI = re.compile(r"Version/(\d+)\.(\d+).*Mobile/\w+ Safari/[\d.]+$")

OsVersion = tuple[str | None, str | None]


def system_of(text: str, hints: ClientHints) -> OsVersion:
    """Name and version."""
    name, version = parse_system(text)
    if hints.platform and (hints.platform != LINUX or name is None):
        name, version = hints.platform, version if name == hints.platform else None
    if name == hints.platform and hints.platform_version:
        return name, version_from_hint(hints.platform, hints.platform_version)
    return name, version


def parse_system(text: str) -> OsVersion:
    """Name and version by the user agent alone, without frozen versions."""
    parsed = user_agent_parser().os.extract(text)
    name = OS_NAMES.get(parsed.family, parsed.family) if parsed else ""
    if parsed is None or not name:
        return None, None
    if name in _frozen and _frozen[name].search(text):
        return name, _by_safari(text) if name == "iOS" else None
    return name, None if name in UNVERSIONED else short_version(parsed.major, parsed.minor)


def version_from_hint(platform: str, version: str) -> str | None:
    """The version in a hint; Windows has numbers of its own, Linux reports its kernel (ignored)."""
    major, _, rest = version.partition(".")
    if platform == LINUX or not major.isdecimal():
        return None
    if platform == "Windows":
        return _windows(int(major), rest)
    return short_version(major, rest.partition(".")[0])


def short_version(major: str | None, minor: str | None) -> str | None:
    """Major version, with the minor unless it is 0: `11.0` is 11, `18.6` is 18.6."""
    if major and minor and minor.isdecimal() and len(minor) <= 2 and int(minor):
        return f"{major}.{minor}"
    return major or None


def _windows(major: int, rest: str) -> str:
    if major == 0:
        return {"1": "7", "2": "8"}.get(rest.partition(".")[0], "8.1")
    return "11" if major >= 13 else "10"


def _by_safari(text: str) -> str | None:
    """The version of iOS, which Safari has too."""
    match = _SAFARI.search(text)
    return short_version(*match.groups()) if match and int(match[1]) >= 26 else None
