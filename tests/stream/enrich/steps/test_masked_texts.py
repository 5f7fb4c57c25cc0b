"""Error texts, paths and URLs are stored masked, unless the website wants them as they are."""

from schemas.kinds import ERROR_REPORT
from tests.stream.enrich.enriched_rows import facts

VIEW = {
    "name": "outbound_click",
    "path": "https://shop.example/users/anna@example.com?utm_term=ben@example.com",
    "referrer": "https://mail.example/anna@example.com",
    "href": "mailto:cleo@example.com",
}
COLUMNS = ("host", "path", "referrer", "href", "utm_term", "outbound_domain")


def test_addresses_in_urls_and_campaigns_are_masked() -> None:
    assert facts(VIEW, *COLUMNS) == (
        "shop.example",
        "/users/[email]",
        "https://mail.example/[email]",
        "mailto:[email]",
        "[email]",
        "mailto:",
    )


def test_a_website_may_store_them() -> None:
    assert facts(VIEW, *COLUMNS, mask_texts=False)[1:3] == (
        "/users/anna@example.com",
        "https://mail.example/anna@example.com",
    )


def test_secrets_in_errors_are_masked() -> None:
    error = {
        "message": "anna@example.com has no card 4111 1111 1111 1111",
        "stack": "at pay (https://shop.example/pay/anna@example.com/a.js:3:7)",
        "filename": "https://shop.example/pay/anna@example.com/a.js",
    }

    assert facts(error, "message", "stack", "filename", kind=ERROR_REPORT) == (
        "[email] has no card [card]",
        "at pay (https://shop.example/pay/[email]/a.js:3:7)",
        "https://shop.example/pay/[email]/a.js",
    )


def test_a_website_without_locations_has_none_by_time_zone_or_proxy() -> None:
    item = {"name": "a", "timezone": "Europe/Berlin"}

    assert facts(item, "country") == ("DE",)
    assert facts(item, "country", "region", "city", locate=False) == (None, None, None)
