"""Browser, operating system and device class, from the user agent and the browser's own hints.

Worked out once per distinct agent. What a browser leaves out or has frozen is no fact: a version is
NULL, or its major part alone, unless a client hint tells the rest.
"""

import re

from msgspec import Struct

from schemas.envelope import HINTS, Envelope
from stream.enrich.devices import device_type
from stream.enrich.hints import GENERIC, LETTERS, Hints, read_hints
from stream.enrich.lookups import Lookups, Memo
from stream.enrich.parser import PARSER
from stream.enrich.systems import short, system_of
from stream.rows import Rows

COLUMNS = ("browser_name", "browser_version", "os_name", "os_version", "device_type")

NAMES = {
    "Chrome Mobile": "Chrome",
    "Chrome Mobile iOS": "Chrome",
    "HeadlessChrome": "Headless Chrome",
    "Mobile Safari": "Safari",
    "Firefox Mobile": "Firefox",
    "Firefox iOS": "Firefox",
    "Edge Mobile": "Edge",
    "Opera Mobile": "Opera",
    "IE Mobile": "IE",
    "Chrome Mobile WebView": "Android WebView",
    "Mobile Safari UI/WKWebView": "iOS WebView",
    "DuckDuckGo Mobile": "DuckDuckGo",
    "WeChat Browser": "WeChat",
    "MiuiBrowser": "Mi Browser",
    "Google": "Google App",
}
APPS = (
    ("WeChat", r"MicroMessenger/(\d+)\.(\d+)"),
    ("LinkedIn", r"LinkedInApp(?:/(\d+)\.(\d+))?"),
    ("Slack", r"\bSlack/(\d+)\.(\d+)"),
    ("Discord", r"\bdiscord/(\d+)\.(\d+)"),
    ("Telegram", r"Telegram-Android/(\d+)\.(\d+)"),
    ("KakaoTalk", r"KAKAOTALK[ /](\d+)\.(\d+)"),
    ("DuckDuckGo", r"\bDdg/(\d+)\.(\d+)"),
    ("Tesla", r"\bTesla/()()"),
    ("GNOME Web", r"Epiphany/()()"),
)
"""Programs that the published rules do not know, or take for the engine inside them."""
APPLE = frozenset({"macOS", "iOS", "tvOS", "watchOS", "Windows"})
"""Systems that Safari was made for; elsewhere an agent only says that it is like Safari."""

_APPS = [(name, re.compile(rule)) for name, rule in APPS]

Browser = tuple[str | None, str | None]
Sent = tuple[str | None, ...]
"""User agent and the headers HINTS."""


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
    return _agents[(envelope.user_agent, *map(envelope.headers.get, HINTS))]


def read_agent(sent: Sent) -> Agent:
    """What a user agent and its hints say."""
    text, hints = sent[0] or "", read_hints(*sent[1:])
    system, version = system_of(text, hints)
    name, number = browser_of(text, hints)
    if name == "Safari" and system not in APPLE:
        name = number = None
    return Agent(name, number, system, version, device_type(text, hints))


def browser_of(text: str, hints: Hints) -> Browser:
    """Name and version: of the brand when that tells more than the user agent does."""
    name, version = said(text)
    if hints.brand and (hints.brand not in GENERIC or name in (None, "Chrome", hints.brand)):
        major, _, rest = hints.version.partition(".")
        version = short(major, rest.partition(".")[0]) if major.isdecimal() else None
        return hints.brand, version
    return name, version


def said(text: str) -> Browser:
    """What the user agent says."""
    for name, rule in _APPS:
        if found := rule.search(text):
            return name, short(*found.groups())
    parsed = PARSER.ua.extract(text)
    if parsed is None or text.startswith("Dalvik/"):
        return None, None
    if parsed.family == "Apple Mail":  # the bare engine, in whatever app
        return "macOS WebView" if "Macintosh" in text else None, None
    name = NAMES.get(parsed.family, parsed.family)[:LETTERS]
    return name, short(parsed.major, parsed.minor)


_agents: Memo[Sent, Agent] = Memo(read_agent)
