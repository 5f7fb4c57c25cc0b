"""Known referrers: each host belongs to one source, each source has one kind."""

from collections import Counter

from stream.enrich.rules import referrer_list
from stream.enrich.rules.referrer_list import (
    PORTAL,
    REFERRERS,
    source_by_host,
    source_kinds,
    source_of_host,
)
from stream.enrich.rules.urls import host_of

HOSTS = [
    host for sources in REFERRERS.kinds.values() for hosts in sources.values() for host in hosts
]


def test_at_least_three_hundred_hosts_are_known_each_of_one_source() -> None:
    assert len(HOSTS) >= 300
    assert [host for host, count in Counter(HOSTS).items() if count > 1] == []


def test_known_hosts_are_written_as_hosts_are_compared() -> None:
    names = [host.removeprefix(PORTAL).removesuffix(".*") for host in HOSTS]

    assert [name for name in names if host_of(name) != name] == []


def test_every_known_host_is_that_of_its_source() -> None:
    wrong = [
        host
        for kind, sources in REFERRERS.kinds.items()
        for name, hosts in sources.items()
        for host in hosts
        if source_by_host[host.removeprefix(PORTAL).replace(".*", ".co.uk")]
        != referrer_list.KnownSource(name, kind)
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


HOSTS_OF_KINDS = {
    "search": "www.google.com google.co.uk m.yahoo.co.jp tw.yahoo.com de.search.yahoo.com "
    "m.search.naver.com yandex.com.tr www1.baidu.com suche.web.de suche.gmx.net search.mail.com "
    "suche.1und1.de search.babylon.com nova.rambler.ru aol.de search.unlisted.example.org",
    "email": "www.gmx.net deref-web.de deref-gmx.net deref-gmx.co.uk deref-mail.com 3c.web.de "
    "mail.rambler.ru lightmailer.gmx.es email.ionos.fr "
    "mailbusiness.ionos.co.uk mail01.orange.fr wmail.orange.fr "
    "messageriepro3.orange.fr webmail1m.orange.fr webmail.unlisted.example.org e.mail.ru "
    "mail2.daum.net inbox.google.com upcmail.hispeed.ch deref-unlisted.com",
    "social": "plus.google.com kin.naver.com zhidao.baidu.com chiebukuro.yahoo.co.jp my.mail.ru "
    "cafe.daum.net",
    "shopping": "shopping.yahoo.co.jp store.shopping.yahoo.co.jp market.yandex.ru "
    "smartstore.naver.com torg.mail.ru",
    "ads": "yabs.yandex.ru an.yandex.ru ad.search.naver.com cas.criteo.com s0.2mdn.net "
    "ads.unlisted.example.org adserver.unlisted.example.org safeframe.googlesyndication.com",
    "news": "news.yahoo.co.jp n.news.naver.com zen.yandex.ru",
    "other": "weather.yahoo.com maps.yandex.ru map.naver.com pan.baidu.com travel.yahoo.com "
    "news.mail.ru research.unlisted.example.org mailing.com search.com ads.com",
}


def test_services_of_portals_mail_and_advertisements_are_told_apart() -> None:
    found = {
        kind: " ".join(host for host in hosts.split() if source_of_host(host).kind == kind)
        for kind, hosts in HOSTS_OF_KINDS.items()
    }

    assert found == HOSTS_OF_KINDS
