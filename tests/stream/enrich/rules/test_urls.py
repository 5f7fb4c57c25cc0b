"""URLs are split and normalized: hosts, paths of pages, fragments and parameters."""

import re

from hypothesis import given
from hypothesis import strategies as st

from schemas.http.host_names import to_punycode
from stream.enrich.rules.urls import host_of, normal_path, parse_page, query_parameters, split_url


def test_url_parts_are_cut_by_hand() -> None:
    assert normal_path("//a//b//") == "/a//b"
    assert normal_path("/u\u0308ber/e%CC%81") == normal_path("/%C3%BCber/é") == "/über/é"
    accented, parts = "e\u0301" * 128, ["é" * 128] * 7 + ["é" * 124 + "e"]
    assert normal_path(f"/a/{accented}e\u0301/") == f"/a/{accented}e\u0301"
    assert normal_path(f"/{accented}" * 20) == "/" + "/".join(parts)
    assert query_parameters("A=1&a=2&b=&=3&c") == {"a": "1"}
    assert (split_url("mailto:x@y.example").host, split_url("").path) == ("", "")


def test_letters_of_the_world_are_no_host_when_there_are_too_many() -> None:
    assert host_of("ü" * 50 + ".example").startswith("xn--")
    assert [host_of(name) for name in ("界" * 253, "\ufdfa" * 4 + ".example", "㏙" * 100)] == [
        ""
    ] * 3
    assert to_punycode("e\u0301" * 50 + "a" * 160) == ""


ADDRESSES = st.one_of(
    st.text(max_size=40),
    st.builds("{}://{}/{}".format, *[st.text(max_size=12)] * 3),
    st.builds("https://{}{}#{}".format, *[st.text(max_size=12)] * 3),
)


@given(ADDRESSES)
def test_any_address_is_a_page_in_its_normal_form(address: str) -> None:
    page = parse_page(address)

    assert page.host is None or (page.host == host_of(page.host) and page.host.isascii())
    assert page.path is None or (
        page.path.startswith("/") and not re.search(r"[\x00-\x1f]", page.path)
    )


def test_a_path_is_as_long_as_an_item_may_make_it() -> None:
    assert parse_page("/" + "a" * 5000).path == "/" + "a" * 2047
    assert parse_page("/a?" + "b" * 5000 + "#/c").path == "/a#/c"
    assert parse_page("/a#/" + "e\u0301" * 5000).path == ("/a#/" + "e\u0301" * 1022)
