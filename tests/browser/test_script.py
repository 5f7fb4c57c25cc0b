"""tidemark.js in a real browser, cross-origin: what is stored is what was done."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.browser.page import Page
from tests.browser.site import Html, Site
from tests.flow.tenant import Tenant
from tests.running import eventually

Row = tuple[Any, ...]

TODAY = {
    "startDate": str((datetime.now(UTC) - timedelta(days=1)).date()),
    "endDate": str((datetime.now(UTC) + timedelta(days=1)).date()),
}


@pytest.fixture
def tenant(tenant: Tenant) -> Tenant:
    """Each test has a website of its own."""
    return Tenant.made(tenant.stack, domain="127.0.0.1")


def tag(tenant: Tenant, more: str = "", source: str = "") -> str:
    """The script tag as a site pastes it."""
    source = source or f"{tenant.stack.collect_url}/tidemark.js"
    return f'<script defer src="{source}" data-website-id="{tenant.website.id}" {more}></script>'


def shows(site: Site, path: str, title: str, *parts: str) -> str:
    """Puts a page on the site; its address, which is on another host than the collector."""
    head = f"<!doctype html><meta charset=utf-8><title>{title}</title>"
    site.pages[path] = Html(head + "".join(parts))
    return site.url(path, "localhost")


def stored(tenant: Tenant, *fields: str, rows: int = 1) -> list[Row]:
    """The named columns of what is stored of a website, as soon as there is that much."""

    def found() -> list[Row]:
        there = tenant.counted("events", *fields, **TODAY)
        return there if sum(row[-1] for row in there) >= rows else []

    return eventually(found, 20)


def test_a_page_view_is_stored_with_its_campaign_and_referrer(
    tenant: Tenant, site: Site, page: Page
) -> None:
    url = shows(site, "/welcome", "Welcome!", tag(tenant))

    page.go(f"{url}?utm_source=news&utm_campaign=may")

    assert stored(tenant, "name", "path", "title", "utm_source", "utm_campaign") == [
        ("screen_view", "/welcome", "Welcome!", "news", "may", 1)
    ]
    assert page.complaints == []
    assert page.js("document.cookie") == ""
    assert page.js("localStorage.length") == 0
