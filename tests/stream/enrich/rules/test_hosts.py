"""Internationalized host names have a bounded length."""

from schemas.http.host_names import to_punycode
from stream.enrich.rules.hosts import host_of


def test_letters_of_the_world_are_no_host_when_there_are_too_many() -> None:
    assert host_of("ü" * 50 + ".example").startswith("xn--")
    assert [host_of(name) for name in ("界" * 253, "\ufdfa" * 4 + ".example", "㏙" * 100)] == [
        ""
    ] * 3
    assert to_punycode("e\u0301" * 50 + "a" * 160) == ""
