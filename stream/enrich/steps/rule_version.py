"""Which rules enriched a row, so that history can be enriched again where they changed.

A version stands for the code (`REVISION`), our tables and the packages with tables of theirs. It
has no order: rows of another version than the present one were enriched by other rules.
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
    user_agent_overrides,
)
from stream.enrich.rules.campaign_parameters import CLICK_IDS
from stream.enrich.rules.channel_rules import CHANNEL_RULES, PAID_MEDIUMS
from stream.enrich.rules.lookups import Lookups
from stream.enrich.rules.referrer_list import REFERRERS
from stream.rows.row_batch import RowBatch

REVISION = 2
"""Raise it with every change of a step's code that gives some row another value."""

RULE_TABLES: Sequence[object] = (
    *(CLICK_IDS, PAID_MEDIUMS, CHANNEL_RULES, REFERRERS),
    *(
        user_agent_overrides.APP_BROWSERS,
        user_agent_overrides.BROWSER_NAMES,
        user_agent_overrides.OS_PATTERNS,
        user_agent_overrides.OS_NAMES,
    ),
    *(
        client_hints.BRANDS,
        client_hints.GENERIC_BRANDS,
        operating_systems.FROZEN_VERSIONS,
        device_rules.DEVICE_RULES,
    ),
    *(
        bot_rules.CATEGORIES,
        bot_rules.HUMAN_PATTERNS,
        bot_rules.APP_LIBRARIES,
        bot_rules.HEADLESS_RULE,
        bot_rules.OWN_RULES,
    ),
)
"""What steps decide by."""

PACKAGES = ("crawler-user-agents", "publicsuffixlist", "tzdata", "ua-parser-builtins")
"""What steps decide by and others keep: programs, domains, countries of time zones, browsers."""


def fingerprint(revision: int, tables: Sequence[object], packages: Sequence[str]) -> int:
    """A positive 31-bit number that changes with any of it."""
    body = msgspec.json.encode((revision, tables, packages))
    return int.from_bytes(blake2b(body, digest_size=4).digest()) >> 1


RULES_VERSION = fingerprint(REVISION, RULE_TABLES, [f"{name} {version(name)}" for name in PACKAGES])


def put_rules_version(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    rows.columns["rules_version"] = [RULES_VERSION] * len(rows)
