"""Imported totals of three days, and events of the website itself on the last of them."""

from tests.query.lake import a_view, imported

WHOLE = (
    imported("2026-11-01", visitors=10, visits=12, page_views=30, bounces=6, visit_seconds=1200),
    imported("2026-11-02", visitors=20, visits=28, page_views=50, bounces=14, events=4),
    imported("2026-11-04", visitors=7, visits=7, page_views=7, bounces=7, visit_seconds=70),
)
PAGES = (
    imported("2026-11-01", "path", "/", visitors=8, page_views=20),
    imported("2026-11-01", "path", "/pricing", visitors=9, page_views=10),
    imported("2026-11-02", "path", "/", visitors=15, page_views=40),
    imported("2026-11-04", "path", "/", visitors=7, page_views=7),
)
OWN = (a_view("/", at="2026-11-04T12:00:00Z"), a_view("/", at="2026-11-05T12:00:00Z"))
