"""Browser, operating system and device type, from user agent and client hints.

Computed once per distinct user agent. A version that browsers omit or have frozen is NULL, or only
its major part, unless a client hint has the rest.
"""

from operator import attrgetter

from msgspec import Struct

from schemas.envelope import CLIENT_HINTS, Envelope
from schemas.tables.column import USER_AGENT_COLUMNS
from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.client_hints import (
    GENERIC_BRANDS,
    MAX_BRAND_LENGTH,
    ClientHints,
    parse_client_hints,
)
from stream.enrich.rules.device_rules import device_type
from stream.enrich.rules.lookups import Lookups
from stream.enrich.rules.operating_systems import short_version, system_of
from stream.enrich.rules.user_agent_parser import BROWSER_NAMES, user_agent_parser, without_model
from stream.enrich.steps.enrichment_step import columns, enrichment_step
from stream.rows.row_batch import RowBatch

COLUMNS = tuple(column.name for column in USER_AGENT_COLUMNS)

SAFARI_SYSTEMS = frozenset({"macOS", "iOS", "tvOS", "watchOS", "Windows"})
"""Systems that Safari exists for; a user agent of another system only claims to be Safari."""

Browser = tuple[str | None, str | None]
UserAgentHeaders = tuple[str | None, ...]
"""User agent and the headers CLIENT_HINTS."""


class UserAgent(Struct, frozen=True, array_like=True):
    """Browser, system and device type; None where the user agent does not tell."""

    browser_name: str | None = None
    browser_version: str | None = None
    os_name: str | None = None
    os_version: str | None = None
    device_type: str | None = None


UNKNOWN = UserAgent()


@enrichment_step(writes=columns(*COLUMNS), repeatable=True)
def put_user_agent(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """Browser, system, device type, without versions that browsers froze."""
    agents = [user_agent_of(envelope) for envelope in rows.senders()]
    for name in COLUMNS:
        rows.columns[name] = rows.repeat_senders(map(attrgetter(name), agents))


def user_agent_of(envelope: Envelope) -> UserAgent:
    """The user agent of an envelope. A server's own one (`node`) says nothing about a visitor."""
    if not envelope.has_visitor and not envelope.user_agent.startswith("Mozilla/"):
        return UNKNOWN
    return _user_agents[(envelope.user_agent, *map(envelope.headers.get, CLIENT_HINTS))]


def parse_user_agent(sent: UserAgentHeaders) -> UserAgent:
    """Browser, system and device type by user agent and client hints."""
    text, hints = sent[0] or "", parse_client_hints(*sent[1:])
    system, version = system_of(text, hints)
    name, number = browser_of(text, hints)
    if name == "Safari" and system not in SAFARI_SYSTEMS:
        name = number = None
    return UserAgent(name, number, system, version, device_type(text, hints))


def browser_of(text: str, hints: ClientHints) -> Browser:
    """Name and version, of the hinted brand when it is more specific than the user agent."""
    name, version = parse_browser(text)
    if hints.brand and (hints.brand not in GENERIC_BRANDS or name in (None, "Chrome", hints.brand)):
        major, _, rest = hints.version.partition(".")
        version = short_version(major, rest.partition(".")[0]) if major.isdecimal() else None
        return hints.brand, version
    return name, version


def parse_browser(text: str) -> Browser:
    """Name and version by the user agent alone."""
    parsed = user_agent_parser().ua.extract(without_model(text))
    if parsed is None or text.startswith("Dalvik/"):
        return None, None
    if parsed.family == "Apple Mail":  # the bare engine in some app
        return "macOS WebView" if "Macintosh" in text else None, None
    name = BROWSER_NAMES.get(parsed.family, parsed.family)[:MAX_BRAND_LENGTH]
    return name, short_version(parsed.major, parsed.minor)


_user_agents: GenerationalCache[UserAgentHeaders, UserAgent] = GenerationalCache(parse_user_agent)
