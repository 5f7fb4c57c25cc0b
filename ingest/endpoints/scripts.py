"""GET /tidemark.js and its companions: our own trackers, as `ingest/web` builds them.

Each is served under its plain name, which browsers ask about again after an hour, and under a name
with its hash, whose content never changes and may be pinned by `integrity`.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, field
from starlette.types import ASGIApp, Receive, Scope, Send

from schemas.errors import MethodNotAllowed
from schemas.http.asgi import header
from schemas.http.openapi import Operation, Response

log = logging.getLogger(__name__)

IDENTITY = "identity"

BUILD_FOLDER = Path(__file__).parents[1] / "web" / "dist"

SCRIPT_SUMMARIES = {
    "tidemark": "The tracker: page views, engagement, outbound clicks, events",
    "tidemark-vitals": "Web vitals, for pages that ask for them",
    "tidemark-errors": "Errors that nobody caught, for pages that ask for them",
}

SCRIPT_OPERATIONS = tuple(
    Operation(
        method="GET",
        path=f"/{name}.js",
        operation_id=name,
        tag="Scripts",
        summary=meaning,
        description="Packed with br or gzip. It has a second name with its hash, which `tidemark "
        "snippet` "
        "prints: that one never changes, and may be kept for ever.",
        responses=(
            Response(200, "the script", media_types=("text/javascript",), headers=("ETag",)),
            Response(304, "the one that you have", headers=("ETag",)),
        ),
        errors=(),
        security=({},),
    )
    for name, meaning in SCRIPT_SUMMARIES.items()
)

FILE_SUFFIXES = {"br": ".br", "gzip": ".gz", IDENTITY: ""}
"""The codings that are kept, best first, and how their files end."""

CACHE_BRIEFLY = b"public, max-age=3600, stale-while-revalidate=86400"
CACHE_IMMUTABLE = b"public, max-age=31536000, immutable"

SCRIPT_HEADERS = [
    (b"content-type", b"text/javascript; charset=utf-8"),
    (b"cross-origin-resource-policy", b"cross-origin"),
    # `Origin`, because an answer without CORS headers must not be reused where they are needed.
    (b"vary", b"Accept-Encoding, Origin"),
]


class ScriptSizes(Struct, frozen=True):
    """Bytes of a script in each coding."""

    plain: int = field(name="")
    gzip: int = field(name=".gz")
    brotli: int = field(name=".br")


class BuiltScript(Struct, frozen=True):
    """One built script, as the manifest tells of it."""

    hash: str
    integrity: str
    sizes: ScriptSizes


def read_manifest(folder: Path = BUILD_FOLDER) -> dict[str, BuiltScript]:
    """The built scripts by name; none where nothing was built."""
    try:
        text = (folder / "manifest.json").read_bytes()
    except FileNotFoundError:
        return {}
    return msgspec.json.decode(text, type=dict[str, BuiltScript])


def file_name(name: str, script: BuiltScript | None = None) -> str:
    """The last part of its address; with its hash when the script is given."""
    return f"{name}.{script.hash}.js" if script else f"{name}.js"


def script_routes(folder: Path = BUILD_FOLDER) -> Iterator[tuple[str, ASGIApp]]:
    """Both addresses of every script."""
    manifest = read_manifest(folder)
    if not manifest:
        log.warning("tracker scripts are not built", extra={"folder": str(folder)})
    for name, script in manifest.items():
        bodies = {
            coding: (folder / f"{name}.js{ending}").read_bytes()
            for coding, ending in FILE_SUFFIXES.items()
        }
        yield f"/{file_name(name)}", script_endpoint(bodies, script.hash, CACHE_BRIEFLY)
        yield f"/{file_name(name, script)}", script_endpoint(bodies, script.hash, CACHE_IMMUTABLE)


def script_endpoint(bodies: Mapping[str, bytes], tag: str, fresh: bytes) -> ASGIApp:
    """The endpoint of one address."""

    async def endpoint(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise MethodNotAllowed("GET, HEAD")
        coding = negotiate_encoding(
            header(scope, b"accept-encoding"), [c for c in bodies if c != IDENTITY]
        )
        etag = f'"{tag}-{coding}"'
        headers = [*SCRIPT_HEADERS, (b"cache-control", fresh), (b"etag", etag.encode())]
        if etag_matches(header(scope, b"if-none-match"), etag):
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


def etag_matches(asked: str | None, etag: str) -> bool:
    """Whether `If-None-Match` names what would be sent."""
    named = {each.strip().removeprefix("W/") for each in (asked or "").split(",")}
    return etag in named or "*" in named


def negotiate_encoding(accepted: str | None, kept: Iterable[str]) -> str:
    """The coding among `kept`, best first, that `Accept-Encoding` rates highest; else as it is.

    A coding with a quality of 0, or one that is not named, is not wanted; `*` speaks for those
    that are not named.
    """
    wishes = dict(
        _parse_preference(part) for part in (accepted or "").lower().split(",") if part.strip()
    )
    others = wishes.get("*", 0.0)
    rated = {coding: wishes.get(coding, others) for coding in kept}
    best = max(rated, key=lambda coding: rated[coding], default=IDENTITY)
    return best if rated.get(best, 0.0) > 0 and rated[best] >= wishes.get(IDENTITY, 0) else IDENTITY


def _parse_preference(part: str) -> tuple[str, float]:
    coding, _, parameters = part.partition(";")
    name, _, value = parameters.partition("=")
    return coding.strip(), _quality(value) if name.strip() == "q" else 1.0


def _quality(text: str) -> float:
    try:
        return min(max(float(text), 0.0), 1.0)
    except ValueError:
        return 0.0
