"""The tables that sources are told by: places, click ids, channels, and the version over them."""

import re
import tomllib
from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from stream.enrich.rules import referrer_list
from stream.enrich.rules.campaign_parameters import CLICK_IDS
from stream.enrich.rules.channel_rules import CHANNEL_RULES, PAID_MEDIUMS
from stream.enrich.rules.hosts import host_of
from stream.enrich.rules.page_urls import parse_page
from stream.enrich.rules.referrer_list import (
    DIRECT,
    DIRECT_KIND,
    OTHER_KIND,
    REFERRERS,
    source_by_host,
    source_kinds,
)
from stream.enrich.rules.rules_version import PACKAGES, REVISION, RULE_TABLES, fingerprint
from stream.enrich.steps.channel import channel_of_input
from stream.enrich.steps.outbound_link import target_domain
from stream.enrich.steps.referrer import parse_referrer
from tests.stream.enrich.golden_cases import GOLDEN

HOSTS = [host for places in REFERRERS.kinds.values() for hosts in places.values() for host in hosts]
ADDRESSES = st.one_of(
    st.text(max_size=40),
    st.builds("{}://{}/{}".format, *[st.text(max_size=12)] * 3),
    st.builds("https://{}{}#{}".format, *[st.text(max_size=12)] * 3),
)


def test_at_least_three_hundred_hosts_are_known_each_to_one_place() -> None:
    assert len(HOSTS) >= 300
    assert [host for host, count in Counter(HOSTS).items() if count > 1] == []


def test_known_hosts_are_written_as_hosts_are_compared() -> None:
    names = [host.removesuffix(".*") for host in HOSTS]

    assert [name for name in names if host_of(name) != name] == []


def test_every_known_host_is_its_places() -> None:
    wrong = [
        host
        for kind, places in REFERRERS.kinds.items()
        for name, hosts in places.items()
        for host in hosts
        if source_by_host[host.replace(".*", ".co.uk")] != referrer_list.KnownSource(name, kind)
    ]

    assert wrong == []


def test_a_place_has_one_kind() -> None:
    names = [name for places in REFERRERS.kinds.values() for name in places]

    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_a_campaigns_source_is_a_name_an_alias_or_a_host() -> None:
    said = ["DuckDuckGo", "duckduckgo ", "ddg", "html.duckduckgo.com", "Hacker News", "bing_ads"]

    assert [source_kinds[source] for source in said] == [
        *("search", "search", "search", "search", "social", "search")
    ]
    assert [source_kinds[source] for source in ("ads", "partner", "partner.example", "")] == [
        None
    ] * 4


def test_kinds_of_rules_and_click_ids_are_kinds_of_places() -> None:
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


def test_letters_of_the_world_are_no_host_when_there_are_too_many() -> None:
    assert host_of("ü" * 50 + ".example").startswith("xn--")
    assert [host_of(name) for name in ("界" * 253, "\ufdfa" * 4 + ".example", "㏙" * 100)] == [
        ""
    ] * 3


@given(ADDRESSES)
def test_any_address_is_a_page_in_its_normal_form(address: str) -> None:
    page = parse_page(address)

    assert page.host is None or (page.host == host_of(page.host) and page.host.isascii())
    assert page.path is None or (
        page.path.startswith("/") and not re.search(r"[\x00-\x1f]", page.path)
    )


def test_a_path_is_as_long_as_an_item_may_make_it() -> None:
    assert parse_page("/" + "a" * 5000).path == "/" + "a" * 2047


@given(ADDRESSES)
def test_any_address_is_a_referrer_with_a_name(address: str) -> None:
    referrer = parse_referrer(address)

    assert (referrer.url == DIRECT) == (not referrer.host)
    assert referrer.name
    assert "?" not in referrer.url
    assert "#" not in referrer.url


@given(ADDRESSES)
def test_any_address_leads_to_a_host_a_scheme_or_nowhere(address: str) -> None:
    domain = target_domain(address)

    assert domain is None or domain.endswith(":") or domain == host_of(domain)


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
    assert fingerprint(REVISION, RULE_TABLES, ()) == 1156135526
