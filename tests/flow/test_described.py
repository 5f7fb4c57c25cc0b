"""Both running services keep to their documents, whatever is sent (schemathesis, a fixed seed)."""

import json
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

import ingest.openapi
import query.openapi
import schemas.failures
from schemas.failures import Failure, WrongMethod
from schemas.openapi import Operation, document
from tests.calling import call
from tests.flow.tenant import Tenant
from tests.running import Stack

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

SERVICES = {"query": query.openapi.SERVICE, "collect": ingest.openapi.service()}
OPERATIONS = [(name, o) for name, service in SERVICES.items() for o in service.operations]
NAMES = [f"{name}-{operation.name}" for name, operation in OPERATIONS]


@pytest.fixture(scope="module")
def caller(stack: Stack) -> Tenant:
    return Tenant.made(stack)


def url(stack: Stack, name: str) -> str:
    return stack.query_url if name == "query" else stack.collect_url


def where(caller: Tenant, operation: Operation) -> dict[str, Any]:
    """The parameters that make a request reach something of the caller's."""
    named = {p.name: p for p in operation.parameters}
    mine = {"link_id": caller.link.id, "slug": caller.link.slug, "table": "events"}
    path = {n: mine[n] for n, p in named.items() if p.within == "path"}
    query = {"website_id": caller.website.id} if "website_id" in named else {}
    return ({"path_parameters": path} if path else {}) | ({"query": query} if query else {})


@pytest.mark.parametrize("name", SERVICES)
def test_a_running_service_shows_its_document(stack: Stack, name: str) -> None:
    reply = call("GET", f"{url(stack, name)}/openapi.json")

    assert reply.json == json.loads(json.dumps(document(SERVICES[name])))


def test_every_failure_is_described_somewhere() -> None:
    known = {
        kind
        for kind in vars(schemas.failures).values()
        if isinstance(kind, type) and issubclass(kind, Failure)
    }

    described = {failure for _, operation in OPERATIONS for failure in operation.failures}
    assert known - described == {Failure, WrongMethod}


@pytest.mark.parametrize("way", ["reaching", "astray", "wrong"])
@pytest.mark.parametrize(("name", "operation"), OPERATIONS, ids=NAMES)
def test_nothing_is_answered_that_is_not_described(
    stack: Stack, caller: Tenant, name: str, operation: Operation, way: str
) -> None:
    """With what reaches something, with whatever the document allows, with what it does not."""
    schema = schemathesis.openapi.from_dict(document(SERVICES[name]))
    described = schema[operation.path][operation.method]
    wrong = way == "wrong" and operation.body is not None
    mode = GenerationMode.NEGATIVE if wrong else GenerationMode.POSITIVE
    own = {} if way == "astray" else where(caller, operation)

    @BOUNDED
    @given(case=described.as_strategy(generation_mode=mode, **own))
    def check(case: schemathesis.Case[Any]) -> None:
        case.call_and_validate(
            url(stack, name),
            headers={"x-api-key": caller.key},
            checks=CHECKS,
            allow_redirects=False,
        )

    check()
