"""OpenAPI 3.1: builds a service's description from its operations and msgspec types.

Each service has a list of its operations.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from schemas.errors import ApiError, HeadersTooLarge

Schema = dict[str, Any]

REF_PREFIX = "#/components/schemas/"


class SchemaNameTaken(Exception):
    """Two types would have the same name in the document."""


def component_schemas(
    types: Sequence[Any], names: Mapping[type, str]
) -> tuple[dict[Any, Schema], dict[str, Schema]]:
    """The schema of each type, and the components that these refer to.

    `names` holds the names of types that the document shows under another one.
    """
    every_type = list(dict.fromkeys((*types, *names)))
    schemas, components = msgspec.json.schema_components(
        every_type, ref_template=f"{REF_PREFIX}{{name}}"
    )
    type_schemas = dict(zip(every_type, schemas, strict=True))
    given = {_component_name(type_schemas[type_]): name for type_, name in names.items()}
    new_names = _new_names(components, given)
    renamed = {
        new_names[name]: _rewrite({**schema, "title": new_names[name]}, new_names)
        for name, schema in components.items()
    }
    return {type_: _rewrite(type_schemas[type_], new_names) for type_ in types}, renamed


def _component_name(schema: Schema) -> str:
    return str(schema["$ref"]).removeprefix(REF_PREFIX)


def _new_names(components: Mapping[str, Schema], given: Mapping[str, str]) -> dict[str, str]:
    """The name of each component in the document, without the modules of equal names."""
    new_names = {name: given.get(name) or name.rpartition(".")[2] for name in components}
    by_name: dict[str, str] = {}
    for name, new_name in new_names.items():
        if new_name in by_name:
            raise SchemaNameTaken(f"{name} and {by_name[new_name]} would both be {new_name}")
        by_name[new_name] = name
    return new_names


def _rewrite(value: Any, new_names: Mapping[str, str]) -> Any:
    """The schema with new names, and with `boolean` instead of a list of one truth value.

    Client generators drop every type that has `enum: [true]`.
    """
    if isinstance(value, list):
        return [_rewrite(item, new_names) for item in value]
    if not isinstance(value, dict):
        return value
    rewritten = {name: _rewrite(item, new_names) for name, item in value.items()}
    if "$ref" in value:
        rewritten["$ref"] = REF_PREFIX + new_names[_component_name(value)]
    if value.get("enum") in ([True], [False]):
        only = rewritten.pop("enum")[0]
        rewritten = {"type": "boolean", "description": f"always {str(only).lower()}", **rewritten}
    return rewritten


def schema_name(name: str) -> str:
    """A name in snake case as the name of a schema: `top_pages` is `TopPages`."""
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[_\W]+", name))


API_VERSION = "0.9.0"
TEXT_MEDIA_TYPES = ("application/x-ndjson", "image/svg+xml")
"""Media types of texts, besides those that begin with text/."""
PROTOCOL_ERRORS: tuple[type[ApiError], ...] = (HeadersTooLarge,)
"""Errors of the HTTP protocol that every operation can return."""


class Parameter(Struct, frozen=True):
    """One member of the query string or the path."""

    name: str
    description: str
    schema: Mapping[str, Any] = {}
    """JSON schema; a string by default."""
    required: bool = False
    location: str = "query"
    example: object = UNSET
    """Forms of documentation send that of a required member, and only show that of others."""


class Response(Struct, frozen=True):
    """One successful response of an operation."""

    status: int
    description: str
    body: Any = None
    """Type of the JSON body, or a tuple of alternatives."""
    media_types: tuple[str, ...] = ()
    """Further media types."""
    headers: tuple[str, ...] = ()


class Operation(Struct, frozen=True, kw_only=True):
    """One route with one method."""

    method: str
    path: str
    operation_id: str
    tag: str
    summary: str
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    """The type of a JSON body, or a tuple of alternatives."""
    body_media_type: str = ""
    """The media type of a body that is a file."""
    examples: Mapping[str, object] = {}
    """Example bodies by title; a test sends each to a running service."""
    responses: tuple[Response, ...]
    errors: tuple[type[ApiError], ...]
    security: tuple[Mapping[str, Sequence[str]], ...] = ({"key": ()}, {"bearer": ()})
    """Alternative security requirements."""


LIMIT_HEADERS = {
    "X-RateLimit-Limit": ("integer", "requests allowed per window"),
    "X-RateLimit-Remaining": ("integer", "requests remaining in the window"),
    "X-RateLimit-Reset": ("integer", "Unix time in seconds at which the next window begins"),
}

SECURITY_SCHEMES = {
    "key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
    "bearer": {"type": "http", "scheme": "bearer"},
}


class ApiDescription(Struct, frozen=True):
    """The description of one service."""

    title: str
    description: str
    operations: tuple[Operation, ...]
    error_body: type[Struct]
    """Type of every error body but 429's."""
    rate_limit_body: type[Struct]
    """Type of the body of 429."""
    security_schemes: Mapping[str, Any] = {}
    """Further security schemes by name."""
    extra_types: tuple[Any, ...] = ()
    """Further types to list under components."""
    schema_names: Mapping[type, str] = {}
    """Names of types in the document, where these differ from those in the code."""
    property_overrides: Mapping[tuple[str, str], Mapping[str, Any]] = {}
    """Further JSON schema keywords, by type and member."""


def openapi_document(service: ApiDescription) -> dict[str, Any]:
    """The OpenAPI document as plain values."""
    types = list(dict.fromkeys(_types(service)))
    type_schemas, components = component_schemas(types, service.schema_names)
    for (name, member), more in service.property_overrides.items():
        components[name]["properties"][member].update(more)
    paths: dict[str, dict[str, Any]] = {}
    for operation in service.operations:
        described = _operation(operation, service, type_schemas)
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": service.title,
            "version": API_VERSION,
            "description": service.description,
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in dict.fromkeys(o.tag for o in service.operations)],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {**SECURITY_SCHEMES, **service.security_schemes},
        },
    }


def encode_document(service: ApiDescription) -> bytes:
    """The document as JSON."""
    return msgspec.json.encode(openapi_document(service), order="deterministic")


def _types(service: ApiDescription) -> Iterator[Any]:
    yield from (service.error_body, service.rate_limit_body, *service.extra_types)
    for operation in service.operations:
        if operation.body is not None:
            yield from _alternatives(operation.body)
        for response in operation.responses:
            yield from _alternatives(response.body)


def _alternatives(body: Any) -> tuple[Any, ...]:
    if body is None:
        return ()
    return body if isinstance(body, tuple) else (body,)


def _body_schema(body: Any, type_schemas: Mapping[Any, Schema]) -> Schema | None:
    shapes = [type_schemas[shape] for shape in _alternatives(body)]
    return {"anyOf": shapes} if len(shapes) > 1 else next(iter(shapes), None)


def _operation(
    operation: Operation, service: ApiDescription, type_schemas: Mapping[Any, Schema]
) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.operation_id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "description": operation.description,
        "parameters": [_parameter(parameter) for parameter in operation.parameters],
        "security": [dict(requirement) for requirement in operation.security],
        "responses": {
            **{
                str(response.status): _response(response, type_schemas)
                for response in operation.responses
            },
            **_error_responses((*operation.errors, *PROTOCOL_ERRORS), service, type_schemas),
        },
    }
    if operation.body is not None:
        examples = {title: {"value": value} for title, value in operation.examples.items()}
        content = {"schema": _body_schema(operation.body, type_schemas), "examples": examples}
        described["requestBody"] = {"required": True, "content": {"application/json": content}}
    elif media_type := operation.body_media_type:
        content = {media_type: {"schema": _file_schema(media_type)}}
        described["requestBody"] = {"required": True, "content": content}
    return described


def _parameter(parameter: Parameter) -> dict[str, Any]:
    schema = dict(parameter.schema) or {"type": "string"}
    description = parameter.description
    described = {"name": parameter.name, "in": parameter.location, "required": parameter.required}
    if parameter.example is not UNSET and parameter.required:
        described["example"] = parameter.example
    elif parameter.example is not UNSET:
        schema["examples"] = [parameter.example]
        description += f"; for example `{parameter.example}`"
    return {**described, "description": description, "schema": schema}


def _response(response: Response, type_schemas: Mapping[Any, Schema]) -> dict[str, Any]:
    content: dict[str, Any] = {
        media_type: {"schema": _file_schema(media_type)} for media_type in response.media_types
    }
    if schema := _body_schema(response.body, type_schemas):
        content = {"application/json": {"schema": schema}, **content}
    described: dict[str, Any] = {
        "description": response.description,
        "headers": _headers(response.headers),
    }
    return described | ({"content": content} if content else {})


def _file_schema(media_type: str) -> Schema:
    is_text = media_type.startswith("text/") or media_type in TEXT_MEDIA_TYPES
    return {"type": "string"} if is_text else {"type": "string", "format": "binary"}


def _error_responses(
    errors: Iterable[type[ApiError]], service: ApiDescription, type_schemas: Mapping[Any, Schema]
) -> dict[str, Any]:
    by_status: dict[int, list[type[ApiError]]] = {}
    for error in errors:
        by_status.setdefault(error.status, []).append(error)
    described = {}
    for status, errors_of_status in sorted(by_status.items()):
        shape = service.rate_limit_body if status == 429 else service.error_body
        description = "; ".join(
            f"`{k.code}`: {(k.__doc__ or '').splitlines()[0]}" for k in errors_of_status
        )
        described[str(status)] = {
            "description": description,
            "headers": _headers(("Retry-After",) if status in (429, 503) else ()),
            "content": {"application/json": {"schema": type_schemas[shape]}},
        }
    return described


def _headers(further: Sequence[str]) -> dict[str, Any]:
    headers = {
        name: {"description": meaning, "required": True, "schema": {"type": type_}}
        for name, (type_, meaning) in LIMIT_HEADERS.items()
    }
    return headers | {name: {"schema": {"type": "string"}} for name in further}


CREDENTIALS = {"key": "an API key (header `x-api-key`)", "website": "`?website_id=`"}
"""The usual ways to authenticate, by security scheme."""


def usage_by_path(operations: Iterable[Operation]) -> Mapping[str, str]:
    """How to call each path that has a POST operation and no GET operation."""
    operations = tuple(operations)
    readable = {operation.path for operation in operations if operation.method == "GET"}
    return {
        operation.path: _usage(operation)
        for operation in operations
        if operation.method == "POST" and operation.path not in readable
    }


def _usage(operation: Operation) -> str:
    schemes = {scheme for requirement in operation.security for scheme in requirement}
    ways = " or ".join(text for scheme, text in CREDENTIALS.items() if scheme in schemes)
    credentials = f" and {ways}" if ways else ""
    return (
        f"with a JSON body (header `content-type: application/json`){credentials}; "
        "`GET /docs` describes it"
    )
