"""Any text is a page in its normal form."""

import re

from hypothesis import given
from hypothesis import strategies as st

from stream.enrich.rules.hosts import host_of
from stream.enrich.rules.page_urls import parse_page

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
