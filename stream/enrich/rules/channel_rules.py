"""CHANNEL_RULES: the first rule that matches a visit names its channel.

The names are those of Google Analytics, and `Campaign`, our own, for visits with tags that no rule
matches. Two things differ: the medium wins over the source (google / email is Email), and a known
source counts where tags say nothing.
"""

import re
from collections.abc import Iterable
from fnmatch import translate

from msgspec import Struct

from stream.enrich.rules.cache import GenerationalCache


class ChannelRule(Struct, frozen=True):
    """A channel and its conditions: any one of the patterns, and a paid visit where `paid` is set.

    In a pattern `*` is any text and `?` one character. Mediums and campaigns are compared in lower
    case with one `-` between words.
    """

    channel: str
    paid: bool = False
    medium: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    campaign: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    """Kind of source that the visit came from."""


PAID_MEDIUMS = (
    "cp?", "cp?-*", "*-cp?", "ppc", "ppc-*", "*-ppc", "paid*", "*-paid", "ad", "ads", "*-ads",
    "advertising", "sem", "retargeting", "remarketing", "sponsored",
)  # fmt: skip
"""Mediums of paid visits. A click id that is added to advertisements only has the same effect."""

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
"""Stands for every source and campaign that no rule names."""

_BETWEEN_WORDS = re.compile(r"[\W_]+")


class ChannelSource(Struct, frozen=True):
    """The source of a visit in the form that rules compare; empty where unknown."""

    medium: str
    source: str
    campaign: str
    kind: str
    paid: bool


def words(text: str | None) -> str:
    """A medium or campaign in the form that rules compare: `Paid_Social ` → `paid-social`."""
    return _BETWEEN_WORDS.sub("-", text.lower()).strip("-") if text else ""


def any_pattern(patterns: Iterable[str]) -> re.Pattern[str]:
    """Matches any of the patterns, nothing without patterns, and never the empty text."""
    return re.compile(
        "|".join(f"(?s:(?=.)){translate(pattern)}" for pattern in patterns) or r"(?!)"
    )


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
    """Source and campaign, each replaced by OTHER when no rule names it, to share cache entries."""
    return (
        source if _sources.match(source) else source and OTHER,
        campaign if _campaigns.match(campaign) else campaign and OTHER,
    )


def is_paid(medium: str) -> bool:
    """Whether a medium, in the form that rules compare, is one of paid visits."""
    return _paid.match(medium) is not None


def match_channel(visit: ChannelSource) -> str:
    """The channel of the first rule that matches; the last rule matches every visit."""
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
