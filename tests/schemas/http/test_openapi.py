"""The OpenAPI description: its components, and how a route is called."""

from typing import Literal

import pytest
from msgspec import Struct, defstruct

from ingest.app import collector_api
from query.app import OPENAPI_SERVICE
from schemas.http.openapi import (
    ApiDescription,
    Operation,
    Response,
    SchemaNameTaken,
    component_schemas,
    openapi_document,
    schema_name,
    usage_by_path,
)


class Row(Struct):
    name: str


class ShownBody(Struct):
    success: Literal[True]
    level: Literal["info", "error"]
    rows: list[Row]


OTHER_ROW = defstruct("Row", [("count", int)], module="elsewhere.rows")


def test_a_fixed_truth_value_is_a_boolean() -> None:
    _, components = component_schemas([ShownBody], {})

    assert components["ShownBody"]["properties"] == {
        "success": {"type": "boolean", "description": "always true"},
        "level": {"enum": ["error", "info"]},
        "rows": {"type": "array", "items": {"$ref": "#/components/schemas/Row"}},
    }


def test_a_type_is_shown_under_the_name_that_it_is_given() -> None:
    schemas, components = component_schemas([ShownBody, Row], {Row: "TopPagesRow"})

    assert schemas[Row] == {"$ref": "#/components/schemas/TopPagesRow"}
    assert list(components) == ["ShownBody", "TopPagesRow"]
    assert components["TopPagesRow"]["title"] == "TopPagesRow"
    assert components["ShownBody"]["properties"]["rows"]["items"] == schemas[Row]


def test_equal_names_lose_their_modules_where_one_is_named_otherwise() -> None:
    schemas, components = component_schemas([Row, OTHER_ROW], {Row: "PageRow"})

    assert schemas[OTHER_ROW] == {"$ref": "#/components/schemas/Row"}
    assert set(components) == {"PageRow", "Row"}


def test_two_types_of_one_name_are_rejected() -> None:
    with pytest.raises(SchemaNameTaken, match="would both be Row"):
        component_schemas([Row, OTHER_ROW], {})


def test_a_name_in_snake_case_becomes_that_of_a_schema() -> None:
    assert schema_name("top_pages") == "TopPages"


@pytest.mark.parametrize("service", [OPENAPI_SERVICE, collector_api()], ids=lambda s: s.title)
def test_names_of_both_services_are_plain_words(service: ApiDescription) -> None:
    names = openapi_document(service)["components"]["schemas"]

    assert [name for name in names if not (name.isalnum() and name[0].isupper())] == []


def operation(method: str, path: str, *schemes: str) -> Operation:
    return Operation(
        method=method,
        path=path,
        operation_id=path,
        tag="Test",
        summary="",
        responses=(Response(200, ""),),
        errors=(),
        security=tuple({scheme: ()} for scheme in schemes),
    )


def test_only_paths_without_get_are_explained() -> None:
    usage = usage_by_path(
        [operation("POST", "/a"), operation("POST", "/b"), operation("GET", "/b")]
    )

    assert usage == {
        "/a": "with a JSON body (header `content-type: application/json`); `GET /docs` describes it"
    }


def test_the_usual_credentials_are_named() -> None:
    [usage] = usage_by_path([operation("POST", "/a", "website", "client", "key")]).values()

    assert "and an API key (header `x-api-key`) or `?website_id=`;" in usage
