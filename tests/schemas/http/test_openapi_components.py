"""Names and types of component schemas."""

from typing import Literal

import pytest
from msgspec import Struct, defstruct

from ingest.app import collector_api
from query.app import OPENAPI_SERVICE
from schemas.http.openapi import (
    ApiDescription,
    SchemaNameTaken,
    component_schemas,
    openapi_document,
    schema_name,
)


class Row(Struct):
    name: str


class Response(Struct):
    success: Literal[True]
    level: Literal["info", "error"]
    rows: list[Row]


OTHER_ROW = defstruct("Row", [("count", int)], module="elsewhere.rows")


def test_a_fixed_truth_value_is_a_boolean() -> None:
    _, components = component_schemas([Response], {})

    assert components["Response"]["properties"] == {
        "success": {"type": "boolean", "description": "always true"},
        "level": {"enum": ["error", "info"]},
        "rows": {"type": "array", "items": {"$ref": "#/components/schemas/Row"}},
    }


def test_a_type_is_shown_under_the_name_that_it_is_given() -> None:
    schemas, components = component_schemas([Response, Row], {Row: "TopPagesRow"})

    assert schemas[Row] == {"$ref": "#/components/schemas/TopPagesRow"}
    assert list(components) == ["Response", "TopPagesRow"]
    assert components["TopPagesRow"]["title"] == "TopPagesRow"
    assert components["Response"]["properties"]["rows"]["items"] == schemas[Row]


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
