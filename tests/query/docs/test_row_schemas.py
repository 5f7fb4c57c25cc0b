"""The rows of query types in the OpenAPI document."""

from typing import Any

from query.app import OPENAPI_SERVICE
from query.standard.query_types import FAMILIES
from schemas.http.openapi import openapi_document

COMPONENTS: dict[str, Any] = openapi_document(OPENAPI_SERVICE)["components"]["schemas"]


def rows_of(query_type: str) -> str:
    items = COMPONENTS["RowsByQueryType"]["properties"][query_type]["items"]
    return str(items["$ref"]).rpartition("/")[2]


def test_every_query_type_is_listed_with_its_description_and_fields() -> None:
    listed = COMPONENTS["RowsByQueryType"]["properties"]
    types = [query_type for family in FAMILIES for query_type in family]

    assert {name: each["description"] for name, each in listed.items()} == {
        query_type.name: query_type.description for query_type in types
    }
    for query_type in types:
        fields = COMPONENTS[rows_of(query_type.name)]["properties"]
        assert list(fields) == list(query_type.row.__struct_encode_fields__)


def test_rows_are_named_by_their_query_type_or_by_what_several_types_share() -> None:
    assert rows_of("vitals_overview") == "VitalsOverviewRow"
    assert rows_of("custom_events") == "CustomEventsRow"
    assert rows_of("top_pages") == rows_of("channels") == "TopEntryRow"
