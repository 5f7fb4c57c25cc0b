"""The marketing channel, by the first rule that matches; rules for paid traffic come first."""

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
from stream.enrich.steps.enrichment_step import columns, enrichment_step
from stream.rows.repeated_column import combined, constant_column
from stream.rows.row_batch import RowBatch

PLACEHOLDERS = frozenset(("", "(direct)", "(none)", "(not set)", "(not provided)"))
"""Values that other tools write for an absent parameter."""

UNKNOWN = frozenset((DIRECT_KIND, OTHER_KIND))
CLICK_IDS_BY_NAME = {click_id.name: click_id for click_id in CLICK_IDS}
NO_ID = ClickId("", "", "", paid=False)

ChannelInput = tuple[str | None, str | None, str | None, str | None, str]
"""utm_source, utm_medium, utm_campaign, click id, kind of referrer."""


@enrichment_step(
    reads=columns("utm_source", "utm_medium", "utm_campaign", "click_id", "referrer_type"),
    repeatable=True,
)
def put_channel(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """Marketing channel: the first rule that matches, paid ones first."""
    if not rows.has_column("channel"):
        return
    nothing = constant_column(None, len(rows))
    columns = rows.columns
    inputs = combined(
        columns.get("utm_source", nothing),
        columns.get("utm_medium", nothing),
        columns.get("utm_campaign", nothing),
        columns.get("click_id", nothing),
        columns["referrer_type"],
    )
    rows.columns["channel"] = inputs.mapped(_channels.__getitem__)


def channel_of_input(channel_input: ChannelInput) -> str:
    """The channel of a visit."""
    source, medium, campaign, click_id, referrer_kind = channel_input
    click = CLICK_IDS_BY_NAME.get(click_id or "", NO_ID)
    medium_words = words(normalized_parameter(medium))
    ruled_source, ruled_campaign = named_by_rules(
        normalized_parameter(source), words(normalized_parameter(campaign))
    )
    visit = ChannelSource(
        medium=medium_words,
        source=ruled_source,
        campaign=ruled_campaign,
        kind=source_kinds[normalized_parameter(source)] or source_kind(click, referrer_kind),
        paid=is_paid(medium_words) or click.paid,
    )
    return channel_cache[visit]


def source_kind(click: ClickId, referrer_kind: str) -> str:
    """The kind of source; a known referrer wins over a click id that is passed on with a link."""
    if click.paid or (click.kind and referrer_kind in UNKNOWN):
        return click.kind
    return referrer_kind


def normalized_parameter(text: str | None) -> str:
    """A campaign parameter in lower case; empty when it is absent."""
    lower = (text or "").strip().lower()
    return "" if lower in PLACEHOLDERS else lower


_channels: GenerationalCache[ChannelInput, str] = GenerationalCache(channel_of_input)
