"""The document of the collector."""

from openapi_spec_validator import validate

from ingest.openapi import service
from schemas.kinds import KINDS
from schemas.openapi import document


def test_the_document_is_openapi_3_1() -> None:
    validate(document(service()))


def test_every_kind_of_item_is_described_with_its_fields() -> None:
    made = document(service())

    for kind in KINDS:
        if kind.path:
            assert "post" in made["paths"][kind.path]
            shape = made["components"]["schemas"][kind.item.__name__]
            assert set(shape["properties"]) == set(kind.item.__struct_encode_fields__)


def test_a_batch_has_the_bounds_of_the_collector() -> None:
    body = document(service())["paths"]["/vitals"]["post"]["requestBody"]

    assert body["content"]["application/json"]["schema"] == {
        "type": "array",
        "items": {"$ref": "#/components/schemas/Vital"},
        "minItems": 1,
        "maxItems": 500,
    }
