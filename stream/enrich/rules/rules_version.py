"""RULES_VERSION: a hash of all rules, by which rows of older rules are found and re-enriched.

It covers the code (`REVISION`), our tables and the packages with tables of their own. It has no
order: a row with another number was enriched by other rules. Field names of the tables are part
of the hash: renaming one would make every stored row outdated.
"""

from collections.abc import Sequence
from hashlib import blake2b
from importlib.metadata import version

import msgspec

from stream.enrich.rules import (
    bot_rules,
    client_hints,
    device_rules,
    operating_systems,
    time_zones,
    user_agent_parser,
)
from stream.enrich.rules.campaign_parameters import CLICK_IDS, SOURCES
from stream.enrich.rules.channel_rules import CHANNEL_RULES, PAID_MEDIUMS
from stream.enrich.rules.referrer_list import REFERRERS

REVISION = 4
"""Increase it with every change of a step's code that gives some row another value."""

RULE_TABLES: Sequence[object] = (
    *(CLICK_IDS, SOURCES, PAID_MEDIUMS, CHANNEL_RULES, REFERRERS),
    *(
        user_agent_parser.APP_BROWSERS,
        user_agent_parser.BROWSER_NAMES,
        user_agent_parser.OS_PATTERNS,
        user_agent_parser.OS_NAMES,
    ),
    *(
        client_hints.BRANDS,
        client_hints.GENERIC_BRANDS,
        operating_systems.FROZEN_VERSIONS,
        device_rules.DEVICE_RULES,
    ),
    *(
        bot_rules.CATEGORIES,
        bot_rules.PURPOSES,
        bot_rules.LIST_CHANGES,
        bot_rules.APP_LIBRARIES,
        bot_rules.HEADLESS_RULE,
        bot_rules.OWN_RULES,
    ),
    *(time_zones.OLD_NAMES, time_zones.OF_NO_COUNTRY, time_zones.SHORT_NAMES),
)
"""The tables that steps decide by."""

PACKAGES = ("crawler-user-agents", "publicsuffixlist", "tzdata", "ua-parser-builtins")
"""Packages that steps decide by: bots, domain suffixes, countries of time zones, browsers."""


def fingerprint(revision: int, tables: Sequence[object], packages: Sequence[str]) -> int:
    """A positive 31-bit number that changes with any of these."""
    body = msgspec.json.encode((revision, tables, packages))
    return int.from_bytes(blake2b(body, digest_size=4).digest()) >> 1


RULES_VERSION = fingerprint(REVISION, RULE_TABLES, [f"{name} {version(name)}" for name in PACKAGES])
