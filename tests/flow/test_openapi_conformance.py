"""Both services conform to their OpenAPI documents (schemathesis, with a fixed seed)."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import ingest.app
import query.app
import schemas.errors
from query.resources.saved_types import SAVED_TYPES, SavedType, convert_body, new_record
from schemas.errors import ApiError, MethodNotAllowed
from schemas.http.openapi import PROTOCOL_ERRORS, Operation, openapi_document
from schemas.receipts import RECEIPT_FORMAT, Receipt
from schemas.registry import (
    Alias,
    Import,
    Member,
    RegistryStore,
    SavedRecord,
    Selector,
    Snapshot,
    validation,
)
from schemas.registry.ids import random_id
from schemas.runtime.clock import now_ms
from tests.flow.narrowed_openapi import narrow_document
from tests.flow.tenant import Tenant
from tests.http_client import call
from tests.installation import Installation

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]

BOUNDED = settings(
    max_examples=25,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)

SERVICES = {
    "query": query.app.OPENAPI_SERVICE,
    "collect": ingest.app.collector_api(),
}
OPERATIONS = [(name, o) for name, service in SERVICES.items() for o in service.operations]


@pytest.fixture(scope="module")
def caller(stack: Installation) -> Tenant:
    return Tenant.create(stack)


def url(stack: Installation, name: str) -> str:
    return stack.query_url if name == "query" else stack.collect_url


def where(caller: Tenant, operation: Operation) -> dict[str, Any]:
    """The parameters that make a request reach something of the caller's."""
    named = {p.name: p for p in operation.parameters}
    mine = {
        "link_id": caller.link.id,
        "slug": caller.link.slug,
        "website_id": caller.website.id,
        "key_id": key_of(caller),
        "import_id": import_of(caller),
        "erasure_id": erasure_of(caller),
        "replay_id": replay_of(caller),
        **saved_records_of(caller),
        "table": "events",
        "receipt": receipt_of(caller),
        "person_id": person_of(caller),
        "session_id": "none",
    }
    path = {n: mine[n] for n, p in named.items() if p.location == "path"}
    query_parameters = {n: p for n, p in named.items() if p.location == "query"}
    query = brief(operation) | {
        n: value
        for n, value in (("website_id", caller.website.id), ("import_id", mine["import_id"]))
        if n in query_parameters
    }
    return ({"path_parameters": path} if path else {}) | ({"query": query} if query else {})


def receipt_of(caller: Tenant) -> str:
    """A receipt of the caller's, as the collector signs it."""
    store = RegistryStore(caller.stack.settings.registry_url)
    try:
        key = Snapshot.read(store).receipt_key
    finally:
        store.close()
    return key.sign(Receipt(RECEIPT_FORMAT, "events", 1, 0, 0, 0, 1, now_ms(), caller.website.id))


def person_of(caller: Tenant) -> str:
    """A person who is invited to the caller's organization."""
    store, now = RegistryStore(caller.stack.settings.registry_url), now_ms()
    owner = caller.website.organization_id
    try:
        invited = store.list(Member, organization_id=owner)
        stamps: Any = {"created_at": now, "updated_at": now}
        member = Member(
            id=random_id(12), organization_id=owner, email="a@b.example", role="viewer", **stamps
        )
        return (invited or [store.create(member)])[0].id
    finally:
        store.close()


def import_of(caller: Tenant) -> str:
    """An import of the caller's."""
    store = RegistryStore(caller.stack.settings.registry_url)
    try:
        found = store.list(Import, website_id=caller.website.id)
        return (found or [store.create(validation.new_import(caller.website, "a.csv", now_ms()))])[
            0
        ].id
    finally:
        store.close()


def erasure_of(caller: Tenant) -> str:
    """A counted erasure of the caller's: it removes nothing."""
    store = RegistryStore(caller.stack.settings.registry_url)
    try:
        erasure = validation.new_erasure(
            caller.website.organization_id,
            Selector.VISITOR,
            ["nobody"],
            now_ms(),
            store.tombstone_key(),
            dry_run=True,
            website_id=caller.website.id,
        )
        return store.create(erasure).id
    finally:
        store.close()


def replay_of(caller: Tenant) -> str:
    """A dry run of the caller's: it sends nothing."""
    store = RegistryStore(caller.stack.settings.registry_url)
    website = caller.website
    try:
        replay = validation.new_replay(
            website.organization_id,
            now_ms(),
            website_id=website.id,
            link_id=None,
            days=7,
            dry_run=True,
        )
        return store.create(replay).id
    finally:
        store.close()


def key_of(caller: Tenant) -> str:
    """A new key of the caller's."""
    key, _ = validation.new_key(caller.website.organization_id, ["read:data"], now_ms())
    store = RegistryStore(caller.stack.settings.registry_url)
    try:
        return store.create(key).id
    finally:
        store.close()


def saved_records_of(caller: Tenant) -> dict[str, str]:
    """The ids of a goal, segment, annotation and money property of the caller's."""
    store = RegistryStore(caller.stack.settings.registry_url)
    try:
        return {
            f"{saved.word.replace(' ', '_')}_id": _saved_record(store, caller, saved).id
            for saved in SAVED_TYPES
        }
    finally:
        store.close()


def _saved_record(store: RegistryStore, caller: Tenant, saved: SavedType) -> SavedRecord:
    """The oldest record of the caller's website, or a new one when it was deleted."""
    found = store.list(saved.record, website_id=caller.website.id, limit=1)
    if found:
        return found[0]
    unique = {"name": f"of {caller.website.id}"} if saved.record is Alias else {}
    body = convert_body(saved.bodies.new, {**saved.example, **unique})
    return store.create(new_record(saved.record, caller.website, body, now_ms(), bytes(32)))


def brief(operation: Operation) -> dict[str, Any]:
    """The parameters that keep an answer from taking long."""
    named = {p.name for p in operation.parameters}
    return {name: value for name, value in (("timeout", 0.01), ("follow", "0")) if name in named}


@pytest.mark.parametrize("name", SERVICES)
def test_a_running_service_shows_its_document(stack: Installation, name: str) -> None:
    reply = call("GET", f"{url(stack, name)}/openapi.json")

    assert reply.json == json.loads(json.dumps(openapi_document(SERVICES[name])))


def test_every_failure_is_described_somewhere() -> None:
    known = {
        kind
        for kind in vars(schemas.errors).values()
        if isinstance(kind, type) and issubclass(kind, ApiError)
    }

    described = {failure for _, operation in OPERATIONS for failure in operation.errors}
    assert known - described - {*PROTOCOL_ERRORS} == {ApiError, MethodNotAllowed}


QUESTIONS = ("runQueries", "runCustomQuery", "explainQuery", "exportRows")


def ways(operation: Operation) -> Iterator[str]:
    """The ways in which an operation is tried."""
    yield "reaching"
    if operation.parameters:
        yield "astray"
    if operation.body is not None:
        yield "wrong"
    if operation.operation_id in QUESTIONS:
        yield "deep"


TRIED = [(way, name, operation) for name, operation in OPERATIONS for way in ways(operation)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("way", "name", "operation"),
    TRIED,
    ids=[f"{name}-{o.operation_id}-{way}" for way, name, o in TRIED],
)
def test_nothing_is_answered_that_is_not_described(
    stack: Installation, caller: Tenant, way: str, name: str, operation: Operation
) -> None:
    """Valid and invalid requests get only the responses that the OpenAPI document describes."""
    shown = openapi_document(SERVICES[name])
    schema = schemathesis.openapi.from_dict(
        narrow_document(shown, caller.website.id) if way == "deep" else shown
    )
    described = schema[operation.path][operation.method]
    mode = GenerationMode.NEGATIVE if way == "wrong" else GenerationMode.POSITIVE
    own = where(caller, operation) if way in ("reaching", "wrong") else {}
    if way == "astray" and brief(operation):
        own = {"query": brief(operation)}
    good = 0

    @BOUNDED
    @given(case=described.as_strategy(generation_mode=mode, **own))
    def check(case: schemathesis.Case[Any]) -> None:
        nonlocal good
        response = case.call_and_validate(
            url(stack, name),
            headers={"x-api-key": caller.key},
            checks=CHECKS,
            allow_redirects=False,
        )
        good += response.status_code == 200

    check()
    assert way != "deep" or good > BOUNDED.max_examples / 4
