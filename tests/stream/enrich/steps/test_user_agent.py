"""Browser, system and device class, as user agents and client hints tell them."""

from typing import Any

import pytest

from schemas.envelope import CLIENT_HINTS
from stream.enrich.rules.client_hints import best_brand, brands
from stream.enrich.rules.operating_systems import short_version
from stream.enrich.steps.user_agent import parse_user_agent
from tests.stream.builders import CHROME
from tests.stream.enrich.enriched_rows import facts
from tests.stream.enrich.golden_cases import GOLDEN, cases

VIEW = {"name": "screen_view"}
COLUMNS = ("browser_name", "browser_version", "os_name", "os_version", "device_type")


def headers(hints: dict[str, str]) -> dict[str, str]:
    """Headers by the short names of the golden cases."""
    return {"sec-ch-ua" if n == "ua" else f"sec-ch-ua-{n}": value for n, value in hints.items()}


@pytest.mark.parametrize("case", cases("user_agent"))
def test_an_agent_is_what_its_user_agent_and_hints_tell(case: dict[str, Any]) -> None:
    sent = headers(case.get("hints", {}))

    found = facts(VIEW, *COLUMNS, user_agent=case["agent"], headers=sent)

    assert set(sent) <= set(CLIENT_HINTS)
    assert [details or "" for details in found] == case["is"]


def test_apps_televisions_consoles_and_cars_have_their_name_and_type() -> None:
    lines = (GOLDEN / "apps_and_devices.tsv").read_text().splitlines()
    expected = {agent: tuple(rest) for *rest, agent in (line.split("\t") for line in lines)}

    found = {agent: parse_user_agent((agent, *[None] * len(CLIENT_HINTS))) for agent in expected}

    assert {
        agent: (parsed.browser_name or "", parsed.device_type or "")
        for agent, parsed in found.items()
    } == expected


def test_a_servers_own_agent_says_nothing_about_a_visitor() -> None:
    assert facts(VIEW, *COLUMNS, user_agent="python-requests/2.32", trusted=True) == (None,) * 5
    assert facts(VIEW, "browser_name", user_agent=CHROME, trusted=True) == ("Chrome",)


def test_an_agent_that_a_server_names_is_the_visitors_as_if_it_came_from_the_browser() -> None:
    crawler = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
    sent = {"headers": {"country": "FR"}, "trusted": True, "names_visitor": True}

    assert facts(VIEW, "country", "is_bot", user_agent=crawler, **sent) == ("FR", True)


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ('"Chromium";v="141", "Google Chrome";v="141", "Not?A_Brand";v="8"', ("Chrome", "141")),
        ('" Not A;Brand";v="99", "Brave";v="141", "Chromium";v="141"', ("Brave", "141")),
        ('"(Not(A:Brand";v="8", "Chromium";v="141"', ("Chromium", "141")),
        ('"Not/A)Brand";v="8.0.0.0"', ("", "")),
        ('"A \\"quoted\\" name";v="1"', ('A \\"quoted\\" name', "1")),
        (f'"{"x" * 60}";v="{"1" * 90}"', ("x" * 40, "1" * 40)),
        ("?0", ("", "")),
        ("", ("", "")),
    ],
)
def test_the_brand_that_tells_most_is_chosen(listed: str, expected: tuple[str, str]) -> None:
    assert best_brand(brands(listed)) == expected


@pytest.mark.parametrize(
    ("major", "minor", "version"),
    [
        ("18", "6", "18.6"),
        ("11", "0", "11"),
        ("44", "18363", "44"),
        ("8", "x", "8"),
        ("8", None, "8"),
        ("", "3", None),
        (None, None, None),
    ],
)
def test_a_version_is_major_and_a_telling_minor(
    major: str | None, minor: str | None, version: str | None
) -> None:
    assert short_version(major, minor) == version
