"""OpenAPI 3.1: the document of a service, made from its operations and the types of its bodies.

Both services describe themselves with it; each keeps the list of its own operations.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from schemas.errors import Failure, HeadTooLarge

Schema = dict[str, Any]

PLACE = "#/components/schemas/{name}"
VERSION = "0.1.0"
ANYWHERE: tuple[type[Failure], ...] = (HeadTooLarge,)
"""What the HTTP protocol itself refuses, whatever the operation."""


class Parameter(Struct, frozen=True):
    """One member of the query string or the path."""

    name: str
    meaning: str
    schema: Mapping[str, Any] = {}
    """Text when nothing else is said."""
    required: bool = False
    within: str = "query"
    example: object = UNSET


class Answer(Struct, frozen=True):
    """One way in which an operation succeeds."""

    status: int
    meaning: str
    shape: Any = None
    """The type of a JSON body; a tuple of types when it is one of several."""
    files: tuple[str, ...] = ()
    """Further media types."""
    headers: tuple[str, ...] = ()


class Operation(Struct, frozen=True, kw_only=True):
    """One route with one method."""

    method: str
    path: str
    name: str
    group: str
    meaning: str
    more: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    """The type of a JSON body."""
    examples: Mapping[str, object] = {}
    """Bodies by what they ask; a test sends each to a running service."""
    answers: tuple[Answer, ...]
    failures: tuple[type[Failure], ...]
    keys: tuple[Mapping[str, Sequence[str]], ...] = ({"key": ()}, {"bearer": ()})
    """Ways to say who asks; any of them will do."""


LIMIT_HEADERS = {
    "X-RateLimit-Limit": ("integer", "requests that are allowed in a window"),
    "X-RateLimit-Remaining": ("integer", "requests that are left in it"),
    "X-RateLimit-Reset": ("integer", "Unix time in seconds at which the next window begins"),
}

KEYS = {
    "key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
    "bearer": {"type": "http", "scheme": "bearer"},
}


class Service(Struct, frozen=True):
    """What is described."""

    title: str
    meaning: str
    operations: tuple[Operation, ...]
    failure: type[Struct]
    """The body of every refusal but 429's."""
    exceeded: type[Struct]
    """The body of 429."""
    ways: Mapping[str, Any] = {}
    """Further ways to say who asks, by the name that operations use."""
    further: tuple[Any, ...] = ()
    """Types that are worth showing though no body is of them."""
    narrowed: Mapping[tuple[str, str], Mapping[str, Any]] = {}
    """What a member of a type takes besides its type, by type and member."""


def document(service: Service) -> dict[str, Any]:
    """The OpenAPI document as plain values."""
    types = list(dict.fromkeys(_types(service)))
    schemas, components = msgspec.json.schema_components(types, ref_template=PLACE)
    for (name, member), more in service.narrowed.items():
        components[name]["properties"][member].update(more)
    shown = dict(zip(types, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation in service.operations:
        described = _operation(operation, service, shown)
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {"title": service.title, "version": VERSION, "description": service.meaning},
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in dict.fromkeys(o.group for o in service.operations)],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {**KEYS, **service.ways}},
    }


def encoded(service: Service) -> tuple[bytes, str]:
    """The document's bytes, and the ETag that names them."""
    body = msgspec.json.encode(document(service), order="deterministic")
    return body, f'"{sha256(body).hexdigest()[:24]}"'


def _types(service: Service) -> Iterator[Any]:
    yield from (service.failure, service.exceeded, *service.further)
    for operation in service.operations:
        if operation.body is not None:
            yield operation.body
        for answer in operation.answers:
            yield from _shapes(answer)


def _shapes(answer: Answer) -> tuple[Any, ...]:
    if answer.shape is None:
        return ()
    return answer.shape if isinstance(answer.shape, tuple) else (answer.shape,)


def _operation(
    operation: Operation, service: Service, shown: Mapping[Any, Schema]
) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.group],
        "summary": operation.meaning,
        "description": operation.more,
        "parameters": [_parameter(parameter) for parameter in operation.parameters],
        "security": [dict(way) for way in operation.keys],
        "responses": {
            **{str(answer.status): _answer(answer, shown) for answer in operation.answers},
            **_refusals((*operation.failures, *ANYWHERE), service, shown),
        },
    }
    if operation.body is not None:
        examples = {said: {"value": value} for said, value in operation.examples.items()}
        content = {"schema": shown[operation.body], "examples": examples}
        described["requestBody"] = {"required": True, "content": {"application/json": content}}
    return described


def _parameter(parameter: Parameter) -> dict[str, Any]:
    described = {
        "name": parameter.name,
        "in": parameter.within,
        "required": parameter.required,
        "description": parameter.meaning,
        "schema": dict(parameter.schema) or {"type": "string"},
    }
    if parameter.example is not UNSET:
        described["example"] = parameter.example
    return described


def _answer(answer: Answer, shown: Mapping[Any, Schema]) -> dict[str, Any]:
    content: dict[str, Any] = {media_type: {"schema": {}} for media_type in answer.files}
    if shapes := [shown[shape] for shape in _shapes(answer)]:
        schema = shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
        content = {"application/json": {"schema": schema}, **content}
    described: dict[str, Any] = {"description": answer.meaning, "headers": _headers(answer.headers)}
    return described | ({"content": content} if content else {})


def _refusals(
    failures: Iterable[type[Failure]], service: Service, shown: Mapping[Any, Schema]
) -> dict[str, Any]:
    by_status: dict[int, list[type[Failure]]] = {}
    for failure in failures:
        by_status.setdefault(failure.status, []).append(failure)
    described = {}
    for status, kinds in sorted(by_status.items()):
        shape = service.exceeded if status == 429 else service.failure
        said = "; ".join(f"`{k.code}`: {(k.__doc__ or '').splitlines()[0]}" for k in kinds)
        described[str(status)] = {
            "description": said,
            "headers": _headers(("Retry-After",) if status in (429, 503) else ()),
            "content": {"application/json": {"schema": shown[shape]}},
        }
    return described


def _headers(further: Sequence[str]) -> dict[str, Any]:
    given = {
        name: {"description": meaning, "required": True, "schema": {"type": type_}}
        for name, (type_, meaning) in LIMIT_HEADERS.items()
    }
    return given | {name: {"schema": {"type": "string"}} for name in further}
