"""RULES: the channels, and what leads to each; the first rule that applies names the channel.

The names are those that the field knows from Google Analytics, and `Campaign`, ours, for what is
tagged in a way that no rule knows. Two things differ: what the medium says goes before who the
source is (google / email is Email), and a place that is known speaks for itself when tags do not.
"""

import re
from collections.abc import Iterable
from fnmatch import translate

from msgspec import Struct

from stream.enrich.rules.cache import GenerationalCache


class ChannelRule(Struct, frozen=True):
    """A channel, and what leads there: any one of the patterns, and paid where it says so.

    In a pattern `*` is anything and `?` one letter. Mediums and campaigns are compared in lower
    case with one `-` for everything between words.
    """

    channel: str
    paid: bool = False
    medium: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    campaign: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    """Kind of the place that the visit came from."""


PAID_MEDIUMS = (
    "cp?", "cp?-*", "*-cp?", "ppc", "ppc-*", "*-ppc", "paid*", "*-paid", "ad", "ads", "*-ads",
    "advertising", "sem", "retargeting", "remarketing", "sponsored",
)  # fmt: skip
"""Mediums of what was paid for. A click id that is on advertisements only says the same."""

CHANNEL_RULES = (
    ChannelRule("Cross-network", medium=("cross-network",), campaign=("*cross-network*",)),
    ChannelRule("Paid Shopping", paid=True, medium=("*shopping*",)),
    ChannelRule("Paid Search", paid=True, medium=("*search*", "sem")),
    ChannelRule("Paid Social", paid=True, medium=("*social*",)),
    ChannelRule("Paid Video", paid=True, medium=("*video*",)),
    ChannelRule(
        "Paid Shopping",
        paid=True,
        campaign=("shop", "shop-*", "*-shop", "*-shop-*", "*shopping*"),
        kind=("shopping",),
    ),
    ChannelRule("Paid Search", paid=True, kind=("search",)),
    ChannelRule("Paid Social", paid=True, kind=("social", "chat")),
    ChannelRule("Paid Video", paid=True, kind=("video",)),
    ChannelRule(
        "Display",
        medium=(
            "*display*",
            "banner*",
            "expandable",
            "interstitial",
            "cpm",
            "native*",
            "programmatic*",
        ),
        kind=("ads",),
    ),
    ChannelRule(
        "Paid Other", paid=True, medium=("*",), source=("*",), campaign=("*",), kind=("*",)
    ),
    ChannelRule(
        "Email",
        medium=("email*", "*-email", "e-mail*", "mail", "mailing*", "newsletter*", "*-newsletter"),
        source=("email", "e-mail", "e_mail", "e mail", "newsletter"),
    ),
    ChannelRule(
        "Affiliates", medium=("affiliate*", "*-affiliate", "*-affiliates"), kind=("affiliate",)
    ),
    ChannelRule("SMS", medium=("sms", "text-message"), source=("sms",)),
    ChannelRule(
        "Mobile Push Notifications",
        medium=("*push", "push-*", "*notification*"),
        source=("firebase",),
    ),
    ChannelRule("Audio", medium=("audio*", "podcast*"), kind=("audio",)),
    ChannelRule("AI Assistant", medium=("ai", "ai-*", "llm"), kind=("ai",)),
    ChannelRule("Organic Social", medium=("social*", "sm", "organic-social")),
    ChannelRule("Organic Video", medium=("*video*",)),
    ChannelRule("Organic Shopping", kind=("shopping",)),
    ChannelRule("Organic Social", kind=("social", "chat")),
    ChannelRule("Organic Video", kind=("video",)),
    ChannelRule("Email", kind=("email",)),
    ChannelRule("Organic Search", medium=("organic*",), kind=("search",)),
    ChannelRule("Referral", medium=("referral", "app", "link")),
    ChannelRule("Campaign", medium=("*",), source=("*",), campaign=("*",)),
    ChannelRule("Direct", kind=("direct",)),
    ChannelRule("Referral", kind=("*",)),
)

OTHER = "other"
"""Stands for all sources and campaigns that no rule names."""

_BETWEEN_WORDS = re.compile(r"[\W_]+")


class ChannelSource(Struct, frozen=True):
    """What is known of where a visit came from, as rules compare it; empty when it is not said."""

    medium: str
    source: str
    campaign: str
    kind: str
    paid: bool


def words(text: str | None) -> str:
    """A medium or campaign as rules compare it: `Paid_Social ` → `paid-social`."""
    return _BETWEEN_WORDS.sub("-", text.lower()).strip("-") if text else ""


def any_pattern(patterns: Iterable[str]) -> re.Pattern[str]:
    """What matches any of the patterns, and nothing when there are none; never the empty text."""
    return re.compile("|".join(f"(?=.){translate(pattern)}" for pattern in patterns) or r"(?!)")


_paid = any_pattern(PAID_MEDIUMS)
_sources = any_pattern(name for rule in CHANNEL_RULES for name in rule.source if name != "*")
_campaigns = any_pattern(name for rule in CHANNEL_RULES for name in rule.campaign if name != "*")
_compiled = [
    (
        rule,
        any_pattern(rule.medium),
        any_pattern(rule.source),
        any_pattern(rule.campaign),
        any_pattern(rule.kind),
    )
    for rule in CHANNEL_RULES
]


def named_by_rules(source: str, campaign: str) -> tuple[str, str]:
    """A source and a campaign for comparison: all that no rule names are alike."""
    return (
        source if _sources.match(source) else source and OTHER,
        campaign if _campaigns.match(campaign) else campaign and OTHER,
    )


def is_paid(medium: str) -> bool:
    """Whether a medium, as rules compare it, was paid for."""
    return _paid.match(medium) is not None


def match_channel(visit: ChannelSource) -> str:
    """The channel that the first fitting rule names; the last one fits every visit."""
    return next(
        rule.channel
        for rule, medium, source, campaign, kind in _compiled
        if (visit.paid or not rule.paid)
        and (
            medium.match(visit.medium)
            or source.match(visit.source)
            or campaign.match(visit.campaign)
            or kind.match(visit.kind)
        )
    )


channel_cache: GenerationalCache[ChannelSource, str] = GenerationalCache(match_channel)
