"""Channel rules: each has a golden case, and every visit has a channel."""

import tomllib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from stream.enrich.rules.campaign_parameters import CLICK_IDS
from stream.enrich.rules.channel_rules import CHANNEL_RULES
from stream.enrich.rules.referrer_list import (
    DIRECT_KIND,
    OTHER_KIND,
    REFERRERS,
)
from stream.enrich.steps.channel import channel_of_input
from tests.stream.enrich.golden_cases import GOLDEN


def test_kinds_of_rules_and_click_ids_are_kinds_of_sources() -> None:
    kinds = {*REFERRERS.kinds, DIRECT_KIND, OTHER_KIND, "*"}

    assert {kind for rule in CHANNEL_RULES for kind in rule.kind} <= kinds
    assert {known_id.kind for known_id in CLICK_IDS} <= kinds


def test_every_channel_has_a_golden_case() -> None:
    cases = tomllib.loads((GOLDEN / "channel.toml").read_text())["case"]

    assert {case["channel"] for case in cases} == {rule.channel for rule in CHANNEL_RULES}


def test_every_channel_and_click_id_is_in_the_reference() -> None:
    reference = (Path(__file__).parents[4] / "stream" / "REFERENCE.md").read_text()

    assert [rule.channel for rule in CHANNEL_RULES if f"| {rule.channel} |" not in reference] == []
    assert [i.name for i in CLICK_IDS if f"| `{i.name}` |" not in reference] == []


@given(*[st.none() | st.text(max_size=20)] * 4, st.text(max_size=8))
def test_every_visit_has_a_channel(
    source: str | None, medium: str | None, campaign: str | None, click_id: str | None, kind: str
) -> None:
    found = channel_of_input((source, medium, campaign, click_id, kind or OTHER_KIND))

    assert found in {rule.channel for rule in CHANNEL_RULES}
