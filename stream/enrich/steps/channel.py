"""The channel: one function of ordered rules, paid traffic first."""

from stream.enrich.rules.campaign_parameters import CLICK_IDS, ClickId
from stream.enrich.rules.channel_rules import Visit, channel_of, is_paid, telling, words
from stream.enrich.rules.lookups import Lookups, Memo
from stream.enrich.rules.referrer_list import DIRECT_KIND, OTHER_KIND, source_kinds
from stream.rows.row_batch import Rows

UNSAID = frozenset(("", "(direct)", "(none)", "(not set)", "(not provided)"))
"""What other tools write where nothing was said."""

UNKNOWN = frozenset((DIRECT_KIND, OTHER_KIND))
KNOWN_IDS = {known.name: known for known in CLICK_IDS}
NO_ID = ClickId("", "", "", paid=False)

Clues = tuple[str | None, str | None, str | None, str | None, str]
"""utm_source, utm_medium, utm_campaign, click id, kind of referrer."""


def put_channel(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    if not rows.wants("channel"):
        return
    nothing = [None] * len(rows)
    columns = rows.columns
    rows.columns["channel"] = [
        _channels[clues]
        for clues in zip(
            columns.get("utm_source", nothing),
            columns.get("utm_medium", nothing),
            columns.get("utm_campaign", nothing),
            columns.get("click_id", nothing),
            columns["referrer_type"],
            strict=True,
        )
    ]


def channel(clues: Clues) -> str:
    """The channel that the clues lead to."""
    source, medium, campaign, click_id, referrer_kind = clues
    clicked = KNOWN_IDS.get(click_id or "", NO_ID)
    by = words(said(medium))
    named, called = telling(said(source), words(said(campaign)))
    visit = Visit(
        medium=by,
        source=named,
        campaign=called,
        kind=source_kinds[said(source)] or kind_of(clicked, referrer_kind),
        paid=is_paid(by) or clicked.paid,
    )
    return channel_of[visit]


def kind_of(clicked: ClickId, referrer_kind: str) -> str:
    """The kind of place; a known referrer goes before an id that people pass on with a link."""
    if clicked.paid or (clicked.kind and referrer_kind in UNKNOWN):
        return clicked.kind
    return referrer_kind


def said(text: str | None) -> str:
    """A campaign parameter in lower case; empty when nothing was said."""
    lower = (text or "").strip().lower()
    return "" if lower in UNSAID else lower


_channels: Memo[Clues, str] = Memo(channel)
