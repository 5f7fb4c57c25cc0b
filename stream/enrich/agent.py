"""Browser, operating system and device class, from the user agent and the browser's own hints.

Parsed once per distinct agent. Versions that browsers have frozen (Windows 10, macOS 10.15.7,
Android 10) are no facts: they are stored only when a hint says them.
"""

import re

from msgspec import Struct

from schemas.envelope import Envelope
from stream.enrich.lookups import Lookups, Memo
from stream.enrich.parser import PARSER
from stream.rows import Rows

COLUMNS = ("browser_name", "browser_version", "os_name", "os_version", "device_type")

BROWSERS = {
    "Chrome Mobile": "Chrome",
    "Chrome Mobile iOS": "Chrome",
    "Mobile Safari": "Safari",
    "Firefox Mobile": "Firefox",
    "Firefox iOS": "Firefox",
    "Edge Mobile": "Edge",
    "Opera Mobile": "Opera",
    "Chrome Mobile WebView": "Android WebView",
    "Mobile Safari UI/WKWebView": "iOS WebView",
}
SYSTEMS = {"Mac OS X": "macOS", "Chrome OS": "ChromeOS"}
FROZEN = {("Windows", "10"), ("macOS", "10.15"), ("Android", "10")}

_TABLET = re.compile(r"iPad|Tablet|PlayBook|Silk(?!.*Mobile)|Android(?!.*Mobile)")
_TV = re.compile(r"TV\b|Tizen(?!.*Mobile)|Web0S|SMART-TV|BRAVIA|CrKey|Roku|AFT[A-Z]", re.IGNORECASE)
_MOBILE = re.compile(r"Mobi|iPhone|iPod|Opera Mini|Windows Phone")

Hints = tuple[str, str, str, str]
"""User agent, Sec-CH-UA-Mobile, -Platform and -Platform-Version."""


class Agent(Struct, frozen=True, array_like=True):
    """What a visitor's program is; None for what it does not tell."""

    browser_name: str | None = None
    browser_version: str | None = None
    os_name: str | None = None
    os_version: str | None = None
    device_type: str | None = None


UNKNOWN = Agent()


def put_agent(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    agents = rows.per_envelope(agent_of)
    for name in COLUMNS:
        rows.columns[name] = [getattr(agent, name) for agent in agents]


def agent_of(envelope: Envelope) -> Agent:
    """The agent of an envelope. A server's own agent (`node`) says nothing about a visitor."""
    if envelope.trusted and not envelope.user_agent.startswith("Mozilla/"):
        return UNKNOWN
    told = envelope.headers.get
    mobile = told("sec-ch-ua-mobile", "")
    platform = told("sec-ch-ua-platform", "").strip('"')
    return _agents[
        envelope.user_agent,
        mobile,
        platform,
        told("sec-ch-ua-platform-version", "").strip('"'),
    ]


def read_agent(hints: Hints) -> Agent:
    """What a user agent and its hints say."""
    text, mobile, platform, version = hints
    parsed = PARSER.parse(text)
    browser, system = parsed.user_agent, parsed.os
    if browser is None and system is None:
        return UNKNOWN
    os_name = SYSTEMS.get(system.family, system.family) if system else None
    said = ".".join(filter(None, (system.major, system.minor))) if system else ""
    return Agent(
        BROWSERS.get(browser.family, browser.family) if browser else None,
        browser.major if browser else None,
        os_name,
        os_version(os_name, said, platform, version),
        device_type(text, mobile),
    )


def os_version(name: str | None, said: str, platform: str, hinted: str) -> str | None:
    """The version when it is a fact: hinted, or said by an agent that does not freeze it."""
    if platform == name and hinted:
        major = hinted.partition(".")[0]
        if name == "Windows":  # hints count Windows releases on their own: 13 and up is Windows 11
            return "11" if major.isdecimal() and int(major) >= 13 else "10"
        return major
    return None if (name, said) in FROZEN else said or None


def device_type(text: str, mobile: str) -> str:
    """desktop, mobile, tablet or tv."""
    if _TV.search(text):
        return "tv"
    if _TABLET.search(text):
        return "tablet"
    if mobile == "?1" or _MOBILE.search(text):
        return "mobile"
    return "desktop"


_agents: Memo[Hints, Agent] = Memo(read_agent)
