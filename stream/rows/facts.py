"""Facts: typed results that one enrichment step leaves for later steps, besides the columns."""

from collections.abc import Sequence

from msgspec import Struct


class PageUrl(Struct, frozen=True):
    """Host and path of a page, normalized; None where they are unknown."""

    host: str | None = None
    path: str | None = None


class PageProperties(Struct, frozen=True):
    """Members of `properties` that describe the page; a sender may put any value there."""

    path: object = None
    url: object = None
    title: object = None
    referrer: object = None
    href: object = None
    text: object = None


class Facts(Struct):
    """One column per fact with a value for each row; empty until its step has run."""

    page_properties: Sequence[PageProperties] = ()
    page_address: Sequence[str] = ()
    """URL of the page as sent, with its query; else the one of the `Referer` header."""
    page: Sequence[PageUrl] = ()
    is_data_centre: Sequence[bool] = ()
    """Whether the geo database marks the sender's address as one of a hosting provider."""
