"""Bots: flagged with the rule that matched, never dropped.

A reason that starts with `hint:` is weak evidence: the row is not flagged. Items that a server
sends with its API key are not flagged: their user agent is that of the server's HTTP client,
unless they name the visitor's.
"""

from schemas.envelope import Envelope
from stream.enrich.rules.bot_rules import APP_LIBRARIES, LIBRARY, bot_of
from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.enrichment_step import columns, enrichment_step
from stream.rows.repeated_column import distinct
from stream.rows.row_batch import Column, RowBatch

HINT_PREFIX = "hint: "
PREFETCH = "prefetch"
DATA_CENTRE = f"{HINT_PREFIX}data centre"
HEADLESS_BRAND = f"{HINT_PREFIX}headless brand"

PURPOSES = ("prefetch", "prerender", "preview")


@enrichment_step(reads=("is_data_centre",), writes=columns("is_bot", "bot_reason"), repeatable=True)
def put_bot(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """Flag and reason, e.g. `preview: Slackbot`; `hint: …` sets no flag; never for a server with
    an API key.
    """
    of_senders = [bot_reason(envelope) for envelope in rows.senders()]
    reasons: Column = rows.repeat_senders(of_senders)
    rows.columns["is_bot"] = rows.repeat_senders(map(is_conclusive, of_senders))
    is_data_centre = rows.facts.is_data_centre
    if any(distinct(is_data_centre).values):
        reasons = [
            reason or (DATA_CENTRE if hosted else None)
            for reason, hosted in zip(reasons, is_data_centre, strict=True)
        ]
    rows.columns["bot_reason"] = reasons


def is_conclusive(reason: str | None) -> bool:
    """Whether a reason is evidence enough for the flag, and not a hint."""
    return reason is not None and not reason.startswith(HINT_PREFIX)


def bot_reason(envelope: Envelope) -> str | None:
    """The rule that identifies a bot, or a hint; None for a person."""
    if not envelope.has_visitor:
        return None
    header = envelope.headers.get
    purpose = header("sec-purpose") or header("purpose") or ""
    if purpose.startswith(PURPOSES):
        return PREFETCH
    headless = "HeadlessChrome" in header("sec-ch-ua", "")
    return _reasons[envelope.user_agent] or (HEADLESS_BRAND if headless else None)


def reason_from_user_agent(text: str) -> str | None:
    """The bot that a user agent names; a hint when it may also be a phone app."""
    bot = bot_of(text)
    if bot is None:
        return None
    is_app_library = bot.category == LIBRARY and bot.name in APP_LIBRARIES
    return f"{HINT_PREFIX if is_app_library else ''}{bot}"


_reasons: GenerationalCache[str, str | None] = GenerationalCache(reason_from_user_agent)
