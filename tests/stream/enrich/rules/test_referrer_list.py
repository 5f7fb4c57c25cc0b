"""Known referrers: each host belongs to one source, each source has one kind."""

from collections import Counter

from stream.enrich.rules import referrer_list
from stream.enrich.rules.hosts import host_of
from stream.enrich.rules.referrer_list import (
    REFERRERS,
    source_by_host,
    source_kinds,
)

HOSTS = [
    host for sources in REFERRERS.kinds.values() for hosts in sources.values() for host in hosts
]


def test_at_least_three_hundred_hosts_are_known_each_of_one_source() -> None:
    assert len(HOSTS) >= 300
    assert [host for host, count in Counter(HOSTS).items() if count > 1] == []


def test_known_hosts_are_written_as_hosts_are_compared() -> None:
    names = [host.removesuffix(".*") for host in HOSTS]

    assert [name for name in names if host_of(name) != name] == []


def test_every_known_host_is_that_of_its_source() -> None:
    wrong = [
        host
        for kind, sources in REFERRERS.kinds.items()
        for name, hosts in sources.items()
        for host in hosts
        if source_by_host[host.replace(".*", ".co.uk")] != referrer_list.KnownSource(name, kind)
    ]

    assert wrong == []


def test_a_source_has_one_kind() -> None:
    names = [name for sources in REFERRERS.kinds.values() for name in sources]

    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_a_campaigns_source_is_a_name_an_alias_or_a_host() -> None:
    names = ["DuckDuckGo", "duckduckgo ", "ddg", "html.duckduckgo.com", "Hacker News", "bing_ads"]

    assert [source_kinds[source] for source in names] == [
        *("search", "search", "search", "search", "social", "search")
    ]
    assert [source_kinds[source] for source in ("ads", "partner", "partner.example", "")] == [
        None
    ] * 4
