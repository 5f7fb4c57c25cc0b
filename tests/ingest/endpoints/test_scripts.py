"""The tracker scripts: size, compression by `Accept-Encoding`, and caching by browsers."""

import base64
import gzip
import hashlib
import json
from pathlib import Path

import pytest

from ingest.endpoints.scripts import (
    BUILD_FOLDER,
    CACHE_BRIEFLY,
    CACHE_IMMUTABLE,
    SCRIPT_SUMMARIES,
    negotiate_encoding,
    read_manifest,
    script_routes,
)
from schemas.errors import MethodNotAllowed
from tests.asgi_client import request_once
from tests.http_client import Reply

SOURCES = BUILD_FOLDER.parent


def get(path: str, method: str = "GET", **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return request_once(dict(script_routes())[path], method, path, headers=named)


def test_every_script_is_built() -> None:
    assert list(read_manifest()) == list(SCRIPT_SUMMARIES)


def test_the_script_is_at_most_2048_bytes_on_the_wire() -> None:
    assert read_manifest()["tidemark"].sizes.gzip <= 2048


@pytest.mark.parametrize("name", SCRIPT_SUMMARIES)
def test_a_script_matches_its_manifest(name: str) -> None:
    script = read_manifest()[name]
    plain, packed = (
        get(f"/{name}.js", accept_encoding=encoding) for encoding in ("identity", "gzip")
    )
    least = get(f"/{name}.js", accept_encoding="br")

    assert gzip.decompress(packed.body) == plain.body
    sizes = (len(plain.body), len(packed.body), len(least.body))
    assert sizes == (script.sizes.plain, script.sizes.gzip, script.sizes.brotli)
    assert hashlib.sha256(plain.body).hexdigest().startswith(script.hash)
    digest = base64.b64encode(hashlib.sha384(plain.body).digest()).decode()
    assert script.integrity == f"sha384-{digest}"


@pytest.mark.parametrize("name", SCRIPT_SUMMARIES)
def test_scripts_comply_with_a_strict_content_security_policy(name: str) -> None:
    text = get(f"/{name}.js").body.decode()

    assert not [word for word in ("eval(", "Function(", ".cookie", "innerHTML") if word in text]


def test_the_plain_name_is_revalidated_and_the_hashed_one_never() -> None:
    script = read_manifest()["tidemark"]

    now = get("/tidemark.js", accept_encoding="gzip, br")
    ever = get(f"/tidemark.{script.hash}.js", accept_encoding="gzip, br")

    assert now.body == ever.body
    assert now.headers == {
        "content-type": "text/javascript; charset=utf-8",
        "cross-origin-resource-policy": "cross-origin",
        "vary": "Accept-Encoding, Origin",
        "cache-control": CACHE_BRIEFLY.decode(),
        "etag": f'"{script.hash}-br"',
        "content-length": str(script.sizes.brotli),
        "content-encoding": "br",
    }
    assert ever.headers == {**now.headers, "cache-control": CACHE_IMMUTABLE.decode()}


@pytest.mark.parametrize("if_none_match", ['"{}-gzip"', 'W/"{}-gzip"', '"other", "{}-gzip"', "*"])
def test_an_unchanged_script_is_not_sent_again(if_none_match: str) -> None:
    tag = if_none_match.format(read_manifest()["tidemark"].hash)

    reply = get("/tidemark.js", accept_encoding="gzip", if_none_match=tag)

    assert (reply.status, reply.body) == (304, b"")
    assert reply.headers["etag"] == '"{}-gzip"'.format(read_manifest()["tidemark"].hash)
    assert "content-length" not in reply.headers


def test_each_content_encoding_has_its_own_etag() -> None:
    tag = get("/tidemark.js", accept_encoding="br").headers["etag"]

    assert get("/tidemark.js", accept_encoding="gzip", if_none_match=tag).status == 200


def test_head_has_the_size_and_no_body() -> None:
    reply = get("/tidemark.js", "HEAD", accept_encoding="gzip")

    assert reply.body == b""
    size = read_manifest()["tidemark"].sizes.gzip
    assert reply.headers["content-length"] == str(size)


def test_a_script_cannot_be_posted_to() -> None:
    with pytest.raises(MethodNotAllowed):
        get("/tidemark.js", "POST")


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        (None, "identity"),
        ("", "identity"),
        ("gzip, deflate, br, zstd", "br"),
        ("gzip", "gzip"),
        ("br;q=0.5, gzip", "gzip"),
        ("br;q=0, gzip;q=0.1", "gzip"),
        ("*", "br"),
        ("br;q=0, *;q=0.5", "gzip"),
        ("gzip;q=0.2, identity;q=0.9", "identity"),
        ("GZIP; Q=0.8", "gzip"),
        ("br;q=nonsense, gzip;q=1.5", "gzip"),
        ("zstd, identity;q=0", "identity"),
    ],
)
def test_the_content_encoding_is_the_preferred_one(accepted: str | None, coding: str) -> None:
    assert negotiate_encoding(accepted, ("br", "gzip")) == coding


def test_without_a_build_no_script_is_served(tmp_path: Path) -> None:
    assert list(script_routes(tmp_path)) == []


def test_packages_are_pinned_by_their_hash_and_by_no_address() -> None:
    lock = json.loads((SOURCES / "package-lock.json").read_text())["packages"]
    package = json.loads((SOURCES / "package.json").read_text())
    packages = {name: entry for name, entry in lock.items() if name}

    assert all(entry["integrity"].startswith("sha512-") for entry in packages.values())
    assert not [name for name, entry in packages.items() if "resolved" in entry]
    for name, version in (package["dependencies"] | package["devDependencies"]).items():
        assert packages[f"node_modules/{name}"]["version"] == version
