"""The campaign: UTM parameters and advertising click ids, the item's own before the page URL's."""

from stream.enrich.lookups import Lookups
from stream.enrich.page import Page
from stream.rows import Rows

UTM = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")

CLICK_IDS = (
    "gclid",
    "gbraid",
    "wbraid",
    "dclid",
    "msclkid",
    "fbclid",
    "ttclid",
    "li_fat_id",
    "twclid",
    "yclid",
)
LETTERS = 256


def put_campaign(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    if not rows.wants("utm_source"):
        return
    pages = rows.facts["page"]
    for name in UTM:
        rows.columns[name] = [
            own or (page.parameters.get(name, "")[:LETTERS] if page.parameters else None) or None
            for own, page in zip(rows.given(name), pages, strict=True)
        ]
    rows.columns["click_id"] = [click_id(page) for page in pages]


def click_id(page: Page) -> str | None:
    """Name of the first advertising click id on the page's URL."""
    if not page.parameters:
        return None
    return next((name for name in CLICK_IDS if name in page.parameters), None)
