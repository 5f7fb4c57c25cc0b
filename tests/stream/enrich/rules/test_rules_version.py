"""The rules version changes with every rule, and with nothing else."""

from stream.enrich.rules.campaign_parameters import CLICK_IDS
from stream.enrich.rules.channel_rules import CHANNEL_RULES, PAID_MEDIUMS
from stream.enrich.rules.referrer_list import (
    REFERRERS,
)
from stream.enrich.rules.rules_version import PACKAGES, REVISION, RULE_TABLES, fingerprint


def test_the_version_of_the_rules_changes_with_revision_table_and_package() -> None:
    now = fingerprint(REVISION, RULE_TABLES, PACKAGES)

    assert 0 <= now < 2**31
    assert fingerprint(REVISION, RULE_TABLES, PACKAGES) == now
    assert fingerprint(REVISION + 1, RULE_TABLES, PACKAGES) != now
    assert (
        fingerprint(REVISION, (CLICK_IDS, PAID_MEDIUMS, CHANNEL_RULES[1:], REFERRERS), PACKAGES)
        != now
    )
    assert fingerprint(REVISION, RULE_TABLES, PACKAGES[1:]) != now


def test_stored_rows_are_outdated_only_when_a_rule_changes() -> None:
    """The hash also covers field names; write the new number here after a change of rules."""
    assert fingerprint(REVISION, RULE_TABLES, ()) == 1774688057
