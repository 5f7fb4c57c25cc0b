"""Programs rather than persons: flagged with the rule that says so, never dropped.

A reason that starts with `hint:` makes a program likely and no more: the row is not flagged. What a
server sends with its key is never a bot: its agent is that of the server's own program.
"""

from schemas.envelope import Envelope
from stream.enrich.rules.bot_rules import APPS, LIBRARY, program_of
from stream.enrich.rules.lookups import Lookups, Memo
from stream.rows.row_batch import Rows

HINT = "hint: "
PREFETCH = "prefetch"
DATA_CENTRE = f"{HINT}data centre"
DISGUISED = f"{HINT}headless brand"

PURPOSES = ("prefetch", "prerender", "preview")


def put_bot(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    told = [bot_reason(envelope) for envelope in rows.runs()]
    reasons = rows.spread(told)
    rows.columns["is_bot"] = rows.spread(map(is_flag, told))
    hosted = rows.facts["hosted"]
    if any(hosted):
        reasons = [
            reason or (DATA_CENTRE if there else None)
            for reason, there in zip(reasons, hosted, strict=True)
        ]
    rows.columns["bot_reason"] = reasons


def is_flag(reason: str | None) -> bool:
    """Whether a reason says more than what is likely."""
    return reason is not None and not reason.startswith(HINT)


def bot_reason(envelope: Envelope) -> str | None:
    """Which rule says that a program sent it, or hints at it; None for a person."""
    if envelope.trusted:
        return None
    told = envelope.headers.get
    purpose = told("sec-purpose") or told("purpose") or ""
    if purpose.startswith(PURPOSES):
        return PREFETCH
    headless = "HeadlessChrome" in told("sec-ch-ua", "")
    return _reasons[envelope.user_agent] or (DISGUISED if headless else None)


def read_reason(text: str) -> str | None:
    """The program that a user agent names; a hint when it may as well be an app in a hand."""
    found = program_of(text)
    if found is None:
        return None
    own = found.sort == LIBRARY and found.name in APPS
    return f"{HINT if own else ''}{found}"


_reasons: Memo[str, str | None] = Memo(read_reason)
