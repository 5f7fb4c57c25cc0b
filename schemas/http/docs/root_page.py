"""GET /: what a service is and where to go, as HTML for browsers and as JSON for others."""

import re
from collections.abc import Mapping
from functools import cache
from html import escape
from string import Template

import msgspec
from msgspec import Struct
from starlette.types import ASGIApp, Receive, Scope, Send

from schemas.errors import MethodNotAllowed
from schemas.http.asgi import header, send_json
from schemas.http.docs.pages import FOLDER, send_text
from schemas.http.openapi import Operation, Response

HOST_WITH_PORT = re.compile(r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):([0-9]+)")


class ServiceOverview(Struct, frozen=True):
    """What a service is, and where to go."""

    service: str
    description: str
    links: dict[str, str]
    """Addresses by what they lead to."""
    readme: dict[str, str]
    """Sections of the files that come with the source, by what they explain."""


class OtherService(Struct, frozen=True):
    """The other service of this installation."""

    title: str
    port: int
    """Its port; known to be reachable when a client addresses this service by its own port."""


ROOT_OPERATION = Operation(
    method="GET",
    path="/",
    operation_id="overview",
    tag="Health",
    summary="What this service is and where to go",
    description="HTML for clients that accept `text/html`, JSON for others.",
    responses=(Response(200, "the overview", ServiceOverview, ("text/html",)),),
    errors=(),
    security=({},),
)


def root_page(overview: ServiceOverview, port: int, other: OtherService) -> ASGIApp:
    """The endpoint of a service that listens on `port`."""

    async def endpoint(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise MethodNotAllowed("GET, HEAD")
        found = msgspec.structs.replace(
            overview, links={**overview.links, **_other_links(scope, port, other)}
        )
        if "text/html" in (header(scope, b"accept") or ""):
            await send_text(scope, send, _as_html(found).encode(), "text/html")
        else:
            await send_json(send, 200, msgspec.to_builtins(found))

    return endpoint


def _other_links(scope: Scope, port: int, other: OtherService) -> Mapping[str, str]:
    """The other service, on the host that the client used; none behind a proxy."""
    address = HOST_WITH_PORT.fullmatch(header(scope, b"host") or "")
    if address is None or int(address[2]) != port:
        return {}
    return {other.title: f"{scope['scheme']}://{address[1]}:{other.port}/"}


def _as_html(overview: ServiceOverview) -> str:
    links = "\n".join(
        f'<li><a href="{escape(url)}">{escape(title)}</a></li>'
        for title, url in overview.links.items()
    )
    sections = "\n".join(
        f"<li>{escape(subject)}: <code>{escape(section)}</code></li>"
        for subject, section in overview.readme.items()
    )
    return _template().substitute(
        title=escape(overview.service),
        description=escape(overview.description),
        links=links,
        sections=sections,
    )


@cache
def _template() -> Template:
    return Template((FOLDER / "root.html").read_text())
