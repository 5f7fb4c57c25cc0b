"""GET /tidemark.js and its companions: our own trackers, as `ingest/web` builds them.

Each is served under its plain name, which browsers ask about again after an hour, and under a name
with its hash, whose content never changes and may be pinned by `integrity`.
"""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, field
from starlette.types import ASGIApp, Receive, Scope, Send

from ingest.coding import IDENTITY, chosen
from schemas.errors import WrongMethod
from schemas.http.asgi import header
from schemas.http.openapi import Answer, Operation

log = logging.getLogger(__name__)

BUILT = Path(__file__).parents[1] / "web" / "dist"

SCRIPTS = {
    "tidemark": "The tracker: page views, engagement, outbound clicks, events",
    "tidemark-vitals": "Web vitals, for pages that ask for them",
    "tidemark-errors": "Errors that nobody caught, for pages that ask for them",
}

OPERATIONS = tuple(
    Operation(
        method="GET",
        path=f"/{name}.js",
        name=name,
        group="Scripts",
        meaning=meaning,
        more="Packed with br or gzip. It has a second name with its hash, which `tidemark snippet` "
        "prints: that one never changes, and may be kept for ever.",
        answers=(
            Answer(200, "the script", files=("text/javascript",), headers=("ETag",)),
            Answer(304, "the one that you have", headers=("ETag",)),
        ),
        failures=(),
        keys=({},),
    )
    for name, meaning in SCRIPTS.items()
)

ENDINGS = {"br": ".br", "gzip": ".gz", IDENTITY: ""}
"""The codings that are kept, best first, and how their files end."""

FOR_NOW = b"public, max-age=3600, stale-while-revalidate=86400"
FOR_EVER = b"public, max-age=31536000, immutable"

HEADERS = [
    (b"content-type", b"text/javascript; charset=utf-8"),
    (b"cross-origin-resource-policy", b"cross-origin"),
    # `Origin`, because an answer without CORS headers must not be reused where they are needed.
    (b"vary", b"Accept-Encoding, Origin"),
]


class Sizes(Struct, frozen=True):
    """Bytes of a script in each coding."""

    plain: int = field(name="")
    gzip: int = field(name=".gz")
    brotli: int = field(name=".br")


class Script(Struct, frozen=True):
    """One built script, as the manifest tells of it."""

    hash: str
    integrity: str
    sizes: Sizes


def read_manifest(folder: Path = BUILT) -> dict[str, Script]:
    """The built scripts by name; none where nothing was built."""
    try:
        text = (folder / "manifest.json").read_bytes()
    except FileNotFoundError:
        return {}
    return msgspec.json.decode(text, type=dict[str, Script])


def file_name(name: str, script: Script | None = None) -> str:
    """The last part of its address; with its hash when the script is given."""
    return f"{name}.{script.hash}.js" if script else f"{name}.js"


def routes(folder: Path = BUILT) -> Iterator[tuple[str, ASGIApp]]:
    """Both addresses of every script."""
    manifest = read_manifest(folder)
    if not manifest:
        log.warning("tracker scripts are not built", extra={"folder": str(folder)})
    for name, script in manifest.items():
        bodies = {
            coding: (folder / f"{name}.js{ending}").read_bytes()
            for coding, ending in ENDINGS.items()
        }
        yield f"/{file_name(name)}", served(bodies, script.hash, FOR_NOW)
        yield f"/{file_name(name, script)}", served(bodies, script.hash, FOR_EVER)


def served(bodies: Mapping[str, bytes], tag: str, fresh: bytes) -> ASGIApp:
    """The endpoint of one address."""

    async def endpoint(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise WrongMethod("GET, HEAD")
        coding = chosen(header(scope, b"accept-encoding"), [c for c in bodies if c != IDENTITY])
        etag = f'"{tag}-{coding}"'
        headers = [*HEADERS, (b"cache-control", fresh), (b"etag", etag.encode())]
        if known(header(scope, b"if-none-match"), etag):
            await send({"type": "http.response.start", "status": 304, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        body = bodies[coding]
        headers.append((b"content-length", b"%d" % len(body)))
        if coding != IDENTITY:
            headers.append((b"content-encoding", coding.encode()))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send(
            {"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body}
        )

    return endpoint


def known(asked: str | None, etag: str) -> bool:
    """Whether `If-None-Match` names what would be sent."""
    named = {each.strip().removeprefix("W/") for each in (asked or "").split(",")}
    return etag in named or "*" in named
