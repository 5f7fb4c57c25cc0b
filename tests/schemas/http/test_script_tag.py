"""Script tags, and the URLs of a collector that they accept."""

import pytest
from msgspec.structs import replace

from schemas.errors import Malformed
from schemas.http.script_tag import main_tag, validate_collect_url
from schemas.registry import Website
from schemas.registry.privacy import Privacy

SHOP = Website(
    id="web_1", organization_id="acme", domain="shop.example", created_at=0, updated_at=0
)


def test_a_tag_names_website_and_extra_scripts() -> None:
    assert main_tag("/t", SHOP, ["vitals", "404"], persist=True) == (
        '<script defer src="/t/tidemark.js" data-website-id="web_1" '
        "data-persist data-vitals data-404></script>"
    )


def test_a_tag_has_what_the_privacy_of_the_website_asks_for() -> None:
    privacy = Privacy(consent="required", global_privacy_control="anonymous")

    assert main_tag("/t", replace(SHOP, privacy=privacy)) == (
        '<script defer src="/t/tidemark.js" data-website-id="web_1" '
        'data-consent="required" data-gpc></script>'
    )


@pytest.mark.parametrize(
    ("url", "base"),
    [("https://t.shop.example/", "https://t.shop.example"), ("/t", "/t"), ("/", "")],
)
def test_a_url_or_a_path_is_a_collector(url: str, base: str) -> None:
    assert validate_collect_url(url) == base


@pytest.mark.parametrize("url", ["", "t.example", "//x y", "https://a.example/ b", "http://:80"])
def test_anything_else_is_refused(url: str) -> None:
    with pytest.raises(Malformed, match="neither an http or https URL"):
        validate_collect_url(url)
