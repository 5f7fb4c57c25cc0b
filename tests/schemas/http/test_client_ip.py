"""The address of a client behind proxies, and proxies that are not trusted."""

import logging
from pathlib import Path

import pytest

from deploy.local.doctor.check import CheckContext
from deploy.local.doctor.processes import PROXIES_CHECK
from deploy.local.processes.process import ProcessState
from deploy.local.processes.process_file import ProcessesStatus, ProcessStatus, write_processes_file
from schemas.http.client_ip import REPORT_MS, UntrustedProxies, client_ip, truncate_ip
from schemas.runtime.clock import now_ms
from schemas.runtime.networks import parse_networks
from schemas.runtime.settings import Settings
from tests.asgi_client import http_scope, request_once
from tests.http_client import call
from tests.ingest.in_memory_collector import in_memory_collector
from tests.installation import eventually
from tests.schemas.http.services import collector


@pytest.mark.parametrize(
    ("address", "truncated"),
    [
        ("203.0.113.77", "203.0.113.0"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1::"),
        ("::ffff:203.0.113.77", "203.0.113.0"),
        ("fe80::1%eth0", "fe80::"),
        ("not an address", ""),
        ("", ""),
    ],
)
def test_an_address_is_truncated(address: str, truncated: str) -> None:
    assert truncate_ip(address) == truncated


def test_forwarded_addresses_are_used_from_trusted_proxies_only() -> None:
    trusted = parse_networks("10.0.0.0/8, 127.0.0.1")

    assert client_ip("10.1.1.1", "198.51.100.7, 10.2.2.2", trusted) == "198.51.100.7"
    assert client_ip("192.0.2.1", "198.51.100.7", trusted) == "192.0.2.1"
    assert client_ip("10.1.1.1", None, trusted) == "10.1.1.1"
    assert client_ip("10.1.1.1", "1.1.1.1, 198.51.100.7", trusted) == "198.51.100.7"
    assert client_ip("::ffff:10.1.1.1", "198.51.100.7", trusted) == "198.51.100.7"


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ("198.51.100.7:4711", "198.51.100.7"),
        ("[2001:db8::7]:4711", "2001:db8::7"),
        ("[2001:db8::7]", "2001:db8::7"),
        ("2001:db8::7", "2001:db8::7"),
        ("6.6.6.6, 198.51.100.7:1, 10.0.0.2:443, ", "198.51.100.7"),
        ("10.0.0.3:80", "10.0.0.1"),
        (", ,", "10.0.0.1"),
        ("198.51.100.7, unknown", "10.0.0.1"),
        ("198.51.100.7, <script>, 10.0.0.2", "10.0.0.1"),
    ],
)
def test_forwarded_addresses_are_parsed_in_every_notation(forwarded: str, address: str) -> None:
    assert client_ip("10.0.0.1", forwarded, parse_networks("10.0.0.0/8")) == address


@pytest.mark.parametrize(
    ("peer", "single", "address"),
    [
        ("10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", " 2001:db8::7 ", "2001:db8::7"),
        ("10.0.0.1", "198.51.100.7, 6.6.6.6", "203.0.113.9"),  # sent twice: no single address
        ("10.0.0.1", "unknown", "203.0.113.9"),
        ("10.0.0.1", None, "203.0.113.9"),
        ("192.0.2.1", "198.51.100.7", "192.0.2.1"),  # no trusted proxy
    ],
)
def test_a_header_with_the_address_alone_goes_first(
    peer: str, single: str | None, address: str
) -> None:
    trusted = parse_networks("10.0.0.0/8")

    assert client_ip(peer, "203.0.113.9", trusted, single) == address


def test_the_client_is_found_behind_the_chain_of_the_compose_file() -> None:
    """A TLS proxy of the host, Docker's gateway, Caddy; and a TLS proxy of another machine."""
    network = "172.30.0.0/24"

    found = client_ip("172.30.0.9", "198.51.100.7, 172.30.0.1", parse_networks(f"{network},"))
    assert found == "198.51.100.7"
    chain = "6.6.6.6, 198.51.100.7, 10.0.0.5"  # the first is the client's own
    assert client_ip("172.30.0.9", chain, parse_networks(network)) == "10.0.0.5"
    trusted = parse_networks(f"{network}, 10.0.0.5")
    assert client_ip("172.30.0.9", chain, trusted) == "198.51.100.7"


LOOPBACK = "127.0.0.1"


@pytest.mark.parametrize(
    ("address", "header", "trusted", "noticed"),
    [
        (LOOPBACK, "x-forwarded-for", "", True),
        ("10.1.2.3", "forwarded", "192.168.0.0/16", True),
        ("fd00::1", "x-real-ip", "", True),
        ("8.8.8.8", "x-forwarded-for", "", False),
        ("10.1.2.3", "x-forwarded-for", "10.0.0.0/8", False),
        (LOOPBACK, "accept", "", False),
    ],
)
def test_an_untrusted_proxy_is_part_of_the_health(
    tmp_path: Path, address: str, header: str, trusted: str, noticed: bool
) -> None:
    collector = in_memory_collector(tmp_path, trusted_proxies=trusted)

    headers = {header: "198.51.100.9"}
    reply = collector.post("/track?website_id=shop", {"name": "a"}, None, headers, address)

    health = request_once(collector.app, "GET", "/health").json
    key = {"x-api-key": collector.keys["reader"]}
    debug = request_once(collector.app, "GET", "/debug?website_id=shop", headers=key).json
    assert reply.status == 200
    assert ("warning" in debug) is noticed
    assert health["ready"] is True
    assert ("TIDEMARK_TRUSTED_PROXIES" in health["checks"]["proxies"]) is noticed
    assert (health["checks"]["proxies"] == "ok") is not noticed


@pytest.mark.parametrize(
    ("forwarded", "problem"),
    [
        ("198.51.100.9", None),
        ("198.51.100.9, 10.0.0.2", None),
        ("10.0.0.2", "through the proxy 10.1.2.3 name no client"),
        ("unknown", "through the proxy 10.1.2.3 name no client"),
        ("198.51.100.9, 192.168.0.7", "through the proxy 10.1.2.3 are from 192.168.0.7, a private"),
    ],
)
def test_a_proxy_before_a_trusted_one_is_part_of_the_health(
    tmp_path: Path, forwarded: str, problem: str | None
) -> None:
    collector = in_memory_collector(tmp_path, trusted_proxies="10.0.0.0/8")

    headers = {"x-forwarded-for": forwarded}
    collector.post("/track?website_id=shop", {"name": "a"}, None, headers, "10.1.2.3")

    proxies = request_once(collector.app, "GET", "/health").json["checks"]["proxies"]
    assert (proxies == "ok") if problem is None else (problem in proxies)


def test_people_of_a_private_network_are_no_proxies() -> None:
    proxies = UntrustedProxies(lambda: 1_795_000_000_000)
    scope = http_scope("POST", "/track", {"x-forwarded-for": "as below"}, "10.0.0.1")

    problems = []
    for number in (1, 1, 2, 3, 4, 1, 5):
        proxies.notice_client(scope, "10.0.0.1", f"192.168.0.{number}")
        problems.append(proxies.problem is None)

    assert problems == [False, False, False, False, True, True, True]


def test_a_probe_of_a_trusted_proxy_is_no_visitor() -> None:
    proxies = UntrustedProxies(lambda: 1_795_000_000_000)

    proxies.notice_client(http_scope("GET", "/health", {}, "10.0.0.1"), "10.0.0.1", "10.0.0.1")

    assert proxies.problem is None


def test_a_network_is_logged_once_an_hour(caplog: pytest.LogCaptureFixture) -> None:
    now = 1_795_000_000_000
    proxies = UntrustedProxies(lambda: now)
    caplog.set_level(logging.WARNING)

    def notice(peer: str) -> int:
        scope = http_scope("POST", "/track", {"x-forwarded-for": "198.51.100.9"}, peer)
        proxies.notice(scope, peer)
        return len(caplog.records)

    assert [notice("10.0.0.1"), notice("10.0.0.2"), notice("10.0.1.1")] == [1, 1, 2]
    now += REPORT_MS - 1
    assert (notice("10.0.0.1"), proxies.problem is not None) == (2, True)
    now += REPORT_MS
    assert proxies.problem is None
    assert notice("10.0.0.1") == 3


def test_doctor_names_the_proxy_of_a_running_collector(tmp_path: Path) -> None:
    entry = ProcessStatus("collector-1", ProcessState.READY, 1, 0, "", "x.log")
    write_processes_file(tmp_path, ProcessesStatus(1, True, (entry,), now_ms()))
    scope = CheckContext(Settings(data_dir=str(tmp_path)))

    with collector(tmp_path, log_level="error") as service:  # the warning is logged as well
        before = list(PROXIES_CHECK.run(scope))
        headers = {"x-forwarded-for": "198.51.100.9"}
        call("GET", f"http://127.0.0.1:{service.port}/health/live", headers=headers)
        eventually(lambda: bool(list(PROXIES_CHECK.run(scope))))
        [finding] = PROXIES_CHECK.run(scope)

    assert before == []
    assert finding.subject == "collector-1"
    assert "requests from 127.0.0.1 have x-forwarded-for" in finding.problem
