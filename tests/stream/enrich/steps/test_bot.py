"""Bots are flagged with the rule that detected them; hints set no flag."""

from typing import Any

import pytest
from crawleruseragents import CRAWLER_USER_AGENTS_DATA

from schemas.kinds import CLICK
from stream.enrich.rules.bot_rules import CATEGORIES, LIST_CHANGES, bot_of
from stream.enrich.steps.bot import reason_from_user_agent
from tests.stream.enrich.enriched_rows import facts
from tests.stream.enrich.golden_cases import GOLDEN, cases

VIEW = {"name": "screen_view"}
CLICKED = {"linkId": "go", "slug": "go", "targetUrl": "https://shop.example/"}


@pytest.mark.parametrize("case", cases("bot"))
def test_a_bot_is_flagged_with_the_reason(case: dict[str, Any]) -> None:
    flag, reason = facts(
        VIEW,
        "is_bot",
        "bot_reason",
        user_agent=case["agent"],
        headers=case.get("headers", {}),
        trusted=case.get("key", False),
    )

    assert [flag, reason or ""] == case["is"]


def test_bots_and_people_are_told_apart_by_patterns() -> None:
    lines = (GOLDEN / "agents.tsv").read_text().splitlines()
    expected = {agent: reason for reason, _, agent in (line.partition("\t") for line in lines)}

    assert {agent: reason_from_user_agent(agent) or "" for agent in expected} == expected


def test_a_preview_that_follows_a_short_link_is_a_bot() -> None:
    agent = "Mozilla/5.0 (compatible; Bluesky Cardyb/1.1; +mailto:support@bsky.app)"

    flagged = facts(CLICKED, "is_bot", "bot_reason", kind=CLICK, user_agent=agent)

    assert flagged == (True, "preview: Cardyb")


def test_every_agent_of_the_published_list_is_a_program() -> None:
    listed = [entry for entry in CRAWLER_USER_AGENTS_DATA if entry["pattern"] not in LIST_CHANGES]

    missed = [agent for entry in listed for agent in entry["instances"] if not bot_of(agent)]

    assert missed == []


def test_what_is_changed_in_the_published_list_is_in_it() -> None:
    assert {entry["pattern"] for entry in CRAWLER_USER_AGENTS_DATA} >= set(LIST_CHANGES)


def test_every_tag_of_the_published_list_has_a_word() -> None:
    assert {tag for entry in CRAWLER_USER_AGENTS_DATA for tag in entry["tags"]} == set(CATEGORIES)
