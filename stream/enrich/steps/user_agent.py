"""Browser, operating system and device class, from the user agent and the browser's own hints.

Worked out once per distinct agent. What a browser leaves out or has frozen is no fact: a version is
NULL, or its major part alone, unless a client hint tells the rest.
"""

from operator import attrgetter

from msgspec import Struct

from schemas.envelope import HINTS, Envelope
from stream.enrich.rules.client_hints import GENERIC, LETTERS, Hints, read_hints
from stream.enrich.rules.device_rules import device_type
from stream.enrich.rules.lookups import Lookups, Memo
from stream.enrich.rules.operating_systems import short, system_of
from stream.enrich.rules.user_agent_overrides import BROWSERS
from stream.enrich.rules.user_agent_parser import PARSER
from stream.rows.row_batch import Rows

COLUMNS = ("browser_name", "browser_version", "os_name", "os_version", "device_type")

APPLE = frozenset({"macOS", "iOS", "tvOS", "watchOS", "Windows"})
"""Systems that Safari was made for; elsewhere an agent only says that it is like Safari."""

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
    agents = [agent_of(envelope) for envelope in rows.runs()]
    for name in COLUMNS:
        rows.columns[name] = rows.spread(map(attrgetter(name), agents))


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
    parsed = PARSER.ua.extract(text)
    if parsed is None or text.startswith("Dalvik/"):
        return None, None
    if parsed.family == "Apple Mail":  # the bare engine, in whatever app
        return "macOS WebView" if "Macintosh" in text else None, None
    name = BROWSERS.get(parsed.family, parsed.family)[:LETTERS]
    return name, short(parsed.major, parsed.minor)


_agents: Memo[Sent, Agent] = Memo(read_agent)
