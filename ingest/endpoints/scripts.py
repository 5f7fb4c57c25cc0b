"""GET /tidemark.js and its companions: the built tracker scripts, with ETag and content encoding.

Each script has two paths: its plain name, which browsers revalidate after an hour, and a name
with its hash, whose content never changes and can be pinned with `integrity`.
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
    "tidemark-vitals": "Web vitals, loaded on demand",
    "tidemark-errors": "Uncaught errors, loaded on demand",
    "tidemark-performance": "Load times of pages, loaded on demand",
    "tidemark-engagement": "Interactions, rage and dead clicks, forms, loaded on demand",
    "tidemark-downloads": "Downloads of files, loaded on demand",
    "tidemark-404": "Pages that do not exist, loaded on demand",
}

SCRIPT_OPERATIONS = tuple(
    Operation(
        method="GET",
        path=f"/{name}.js",
        operation_id=name,
        tag="Scripts",
        summary=summary,
        description="Compressed with br or gzip. `tidemark snippet` prints a second name with a "
        "hash, whose content never changes and can be cached for ever.",
        responses=(
            Response(200, "the script", media_types=("text/javascript",), headers=("ETag",)),
            Response(304, "not modified", headers=("ETag",)),
        ),
        errors=(),
        security=({},),
    )
    for name, summary in SCRIPT_SUMMARIES.items()
)

FILE_SUFFIXES = {"br": ".br", "gzip": ".gz", IDENTITY: ""}
"""Content encodings, best first, with the suffixes of their files."""

CACHE_BRIEFLY = b"public, max-age=3600, stale-while-revalidate=86400"
CACHE_IMMUTABLE = b"public, max-age=31536000, immutable"

SCRIPT_HEADERS = [
    (b"content-type", b"text/javascript; charset=utf-8"),
    (b"cross-origin-resource-policy", b"cross-origin"),
    # `Origin`, because a response without CORS headers must not be reused where they are needed.
    (b"vary", b"Accept-Encoding, Origin"),
]


class ScriptSizes(Struct, frozen=True):
    """Size of a script in each content encoding."""

    plain: int = field(name="")
    gzip: int = field(name=".gz")
    brotli: int = field(name=".br")


class BuiltScript(Struct, frozen=True):
    """One built script, as listed in the manifest."""

    hash: str
    integrity: str
    sizes: ScriptSizes


def read_manifest(folder: Path = BUILD_FOLDER) -> dict[str, BuiltScript]:
    """The built scripts by name; empty if nothing was built."""
    try:
        text = (folder / "manifest.json").read_bytes()
    except FileNotFoundError:
        return {}
    return msgspec.json.decode(text, type=dict[str, BuiltScript])


def file_name(name: str, script: BuiltScript | None = None) -> str:
    """File name of a script; with its hash if `script` is given."""
    return f"{name}.{script.hash}.js" if script else f"{name}.js"


def script_routes(folder: Path = BUILD_FOLDER) -> Iterator[tuple[str, ASGIApp]]:
    """Both paths of every described script, with their endpoints."""
    manifest = read_manifest(folder)
    if not manifest:
        log.warning("tracker scripts are not built", extra={"folder": str(folder)})
    for name in SCRIPT_SUMMARIES.keys() & manifest.keys():
        script = manifest[name]
        bodies = {
            coding: (folder / f"{name}.js{suffix}").read_bytes()
            for coding, suffix in FILE_SUFFIXES.items()
        }
        yield f"/{file_name(name)}", script_endpoint(bodies, script.hash, CACHE_BRIEFLY)
        yield f"/{file_name(name, script)}", script_endpoint(bodies, script.hash, CACHE_IMMUTABLE)


def script_endpoint(
    bodies: Mapping[str, bytes], content_hash: str, cache_control: bytes
) -> ASGIApp:
    """The endpoint of one path."""

    async def endpoint(scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise MethodNotAllowed("GET, HEAD")
        coding = negotiate_encoding(
            header(scope, b"accept-encoding"), [c for c in bodies if c != IDENTITY]
        )
        etag = f'"{content_hash}-{coding}"'
        headers = [*SCRIPT_HEADERS, (b"cache-control", cache_control), (b"etag", etag.encode())]
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


def etag_matches(if_none_match: str | None, etag: str) -> bool:
    """Whether `If-None-Match` has the ETag of the response."""
    etags = {etag_text.strip().removeprefix("W/") for etag_text in (if_none_match or "").split(",")}
    return etag in etags or "*" in etags


def negotiate_encoding(accepted: str | None, available: Iterable[str]) -> str:
    """The encoding of `available`, best first, with the highest quality in `Accept-Encoding`.

    An encoding with quality 0, or absent from the header, is not acceptable; `*` gives the quality
    of those that are absent. Without an acceptable one the response is not encoded.
    """
    preferences = dict(
        _parse_preference(part) for part in (accepted or "").lower().split(",") if part.strip()
    )
    other_quality = preferences.get("*", 0.0)
    qualities = {coding: preferences.get(coding, other_quality) for coding in available}
    best = max(qualities, key=lambda coding: qualities[coding], default=IDENTITY)
    return (
        best
        if qualities.get(best, 0.0) > 0 and qualities[best] >= preferences.get(IDENTITY, 0)
        else IDENTITY
    )


def _parse_preference(part: str) -> tuple[str, float]:
    coding, _, parameters = part.partition(";")
    name, _, value = parameters.partition("=")
    return coding.strip(), _quality(value) if name.strip() == "q" else 1.0


def _quality(text: str) -> float:
    try:
        return min(max(float(text), 0.0), 1.0)
    except ValueError:
        return 0.0
