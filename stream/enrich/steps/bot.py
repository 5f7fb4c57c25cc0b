"""Programs rather than persons: flagged with the rule that says so, never dropped.

A reason that starts with `hint:` makes a program likely and no more: the row is not flagged. What a
server sends with its key is never a bot: its agent is that of the server's own program.
"""

from schemas.envelope import Envelope
from stream.enrich.rules.bot_rules import APP_LIBRARIES, LIBRARY, bot_of
from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.lookups import Lookups
from stream.rows.row_batch import RowBatch

HINT_PREFIX = "hint: "
PREFETCH = "prefetch"
DATA_CENTRE = f"{HINT_PREFIX}data centre"
HEADLESS_BRAND = f"{HINT_PREFIX}headless brand"

PURPOSES = ("prefetch", "prerender", "preview")


def put_bot(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    told = [bot_reason(envelope) for envelope in rows.envelope_runs()]
    reasons = rows.repeat_runs(told)
    rows.columns["is_bot"] = rows.repeat_runs(map(is_conclusive, told))
    hosted = rows.facts.is_data_centre
    if any(hosted):
        reasons = [
            reason or (DATA_CENTRE if there else None)
            for reason, there in zip(reasons, hosted, strict=True)
        ]
    rows.columns["bot_reason"] = reasons


def is_conclusive(reason: str | None) -> bool:
    """Whether a reason says more than what is likely."""
    return reason is not None and not reason.startswith(HINT_PREFIX)


def bot_reason(envelope: Envelope) -> str | None:
    """Which rule says that a program sent it, or hints at it; None for a person."""
    if envelope.trusted:
        return None
    told = envelope.headers.get
    purpose = told("sec-purpose") or told("purpose") or ""
    if purpose.startswith(PURPOSES):
        return PREFETCH
    headless = "HeadlessChrome" in told("sec-ch-ua", "")
    return _reasons[envelope.user_agent] or (HEADLESS_BRAND if headless else None)


def reason_from_user_agent(text: str) -> str | None:
    """The program that a user agent names; a hint when it may as well be an app in a hand."""
    found = bot_of(text)
    if found is None:
        return None
    own = found.category == LIBRARY and found.name in APP_LIBRARIES
    return f"{HINT_PREFIX if own else ''}{found}"


_reasons: GenerationalCache[str, str | None] = GenerationalCache(reason_from_user_agent)
