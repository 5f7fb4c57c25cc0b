"""Programs rather than persons: flagged with the rule that says so, never dropped.

What a server sends with its key is never a bot: its agent is that of the server's own program.
"""

import re

from crawleruseragents import CRAWLER_USER_AGENTS_DATA

from schemas.envelope import Envelope
from stream.enrich.lookups import Lookups, Memo
from stream.enrich.parser import PARSER
from stream.rows import Rows

_crawlers = [re.compile(entry["pattern"]) for entry in CRAWLER_USER_AGENTS_DATA]


def put_bot(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    reasons = rows.per_envelope(bot_reason)
    rows.columns["bot_reason"] = reasons
    rows.columns["is_bot"] = [reason is not None for reason in reasons]


def bot_reason(envelope: Envelope) -> str | None:
    """Which rule says that a program sent it; None for a person."""
    if envelope.trusted:
        return None
    purpose = envelope.headers.get("sec-purpose") or envelope.headers.get("purpose") or ""
    if purpose.startswith(("prefetch", "prerender")):
        return "prefetch"
    return _reasons[envelope.user_agent]


def read_reason(text: str) -> str | None:
    """The first rule that a user agent meets."""
    if not text.strip():
        return "empty user agent"
    device = PARSER.parse_device(text)
    if device is not None and device.family == "Spider":
        return "spider"
    return "crawler" if any(crawler.search(text) for crawler in _crawlers) else None


_reasons: Memo[str, str | None] = Memo(read_reason)
