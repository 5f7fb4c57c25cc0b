"""Two query services over one lake in an object store: one on DuckDB, one on Trino."""

from pathlib import Path
from typing import Any

from msgspec import json

from query.app import QueryService, create_app
from schemas.runtime.settings import Settings
from tests.asgi_client import request_once
from tests.conformance.questions import Question
from tests.http_client import Reply
from tests.oracle.service import registry
from tests.query.query_service import NOW

QUERY_SECONDS = 120.0
OF_THE_RUN = {"executionTime", "query_id", "queryId", "lagSeconds", "watermark", "engine"}
"""Members that differ between two runs of the same query."""


def open_service(data: Path, lake: str, **settings: Any) -> QueryService:
    """A service over the lake; every query goes to the engine that the settings name."""
    held = registry()
    options = Settings(
        data_dir=str(data),
        registry=held.url,
        lake=lake,
        query_memory_mb=512,
        query_seconds=QUERY_SECONDS,
        engine_mb=0,
        **settings,
    )
    return create_app(options, held.store, clock=lambda: NOW, fresh_seconds=0)


def ask(service: QueryService, question: Question) -> Reply:
    """The reply to one question, with a key that has access to its subject."""
    kind = "link_id" if question.subject in ("go", "away") else "website_id"
    key = registry().keys["globex" if question.subject in ("rival", "away") else "acme"]
    separator = "&" if "?" in question.path else "?"
    url = f"{question.path}{separator}{kind}={question.subject}"
    return request_once(service.app, question.method, url, question.body, {"x-api-key": key})


def answer(service: QueryService, question: Question) -> Any:
    """What the reply says, without what differs between two runs."""
    reply = ask(service, question)
    if "ndjson" in reply.headers.get("content-type", ""):
        return [reply.status, *(json.decode(line) for line in reply.body.splitlines())]
    return [reply.status, _lasting(json.decode(reply.body))]


def _lasting(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _lasting(each) for name, each in value.items() if name not in OF_THE_RUN}
    return [_lasting(each) for each in value] if isinstance(value, list) else value
