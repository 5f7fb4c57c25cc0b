"""The channel: one function of ordered rules, paid traffic first."""

from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.campaign_parameters import CLICK_IDS, ClickId
from stream.enrich.rules.channel_rules import (
    ChannelSource,
    channel_cache,
    is_paid,
    named_by_rules,
    words,
)
from stream.enrich.rules.lookups import Lookups
from stream.enrich.rules.referrer_list import DIRECT_KIND, OTHER_KIND, source_kinds
from stream.rows.row_batch import RowBatch

PLACEHOLDERS = frozenset(("", "(direct)", "(none)", "(not set)", "(not provided)"))
"""What other tools write where nothing was said."""

UNKNOWN = frozenset((DIRECT_KIND, OTHER_KIND))
CLICK_IDS_BY_NAME = {known.name: known for known in CLICK_IDS}
NO_ID = ClickId("", "", "", paid=False)

ChannelInput = tuple[str | None, str | None, str | None, str | None, str]
"""utm_source, utm_medium, utm_campaign, click id, kind of referrer."""


def put_channel(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    if not rows.has_column("channel"):
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


def channel_of_input(clues: ChannelInput) -> str:
    """The channel that the clues lead to."""
    source, medium, campaign, click_id, referrer_kind = clues
    clicked = CLICK_IDS_BY_NAME.get(click_id or "", NO_ID)
    by = words(normalized_parameter(medium))
    named, called = named_by_rules(
        normalized_parameter(source), words(normalized_parameter(campaign))
    )
    visit = ChannelSource(
        medium=by,
        source=named,
        campaign=called,
        kind=source_kinds[normalized_parameter(source)] or source_kind(clicked, referrer_kind),
        paid=is_paid(by) or clicked.paid,
    )
    return channel_cache[visit]


def source_kind(clicked: ClickId, referrer_kind: str) -> str:
    """The kind of place; a known referrer goes before an id that people pass on with a link."""
    if clicked.paid or (clicked.kind and referrer_kind in UNKNOWN):
        return clicked.kind
    return referrer_kind


def normalized_parameter(text: str | None) -> str:
    """A campaign parameter in lower case; empty when nothing was said."""
    lower = (text or "").strip().lower()
    return "" if lower in PLACEHOLDERS else lower


_channels: GenerationalCache[ChannelInput, str] = GenerationalCache(channel_of_input)
