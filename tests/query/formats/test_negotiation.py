"""A format is chosen by name or by the Accept header; it holds the rows of one query."""

import pytest

from query.formats.output_formats import FORMATS
from tests.query.formats.answer_formats import READERS, standard
from tests.query.query_service import InProcessService


@pytest.mark.parametrize("name", READERS)
def test_a_format_holds_one_question(service: InProcessService, name: str) -> None:
    reply = standard(service, "top_pages", "summary", format=name)

    assert reply.status == 400
    assert reply.json["error"] == (
        f"Format '{name}' supports one query, so 'parameters' must name one query type; it names 2"
    )


def test_a_question_that_fails_is_refused_as_a_whole(service: InProcessService) -> None:
    reply = standard(service, "top_pagez", format="csv")

    assert reply.status == 400
    assert reply.json["error"] == "Unknown query type 'top_pagez'; did you mean 'top_pages'?"


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/*", "application/json"),
        ("text/html, */*;q=0.1", "application/json"),
        ("text/*", "text/csv; charset=utf-8"),
        ("text/csv;q=0.5, application/x-ndjson", "application/x-ndjson"),
        ("application/json;q=0, */*;q=0.1, text/csv", "text/csv; charset=utf-8"),
        ("APPLICATION/VND.APACHE.PARQUET", "application/vnd.apache.parquet"),
        ("application/vnd.apache.arrow.stream;q=x", "application/vnd.apache.arrow.stream"),
    ],
)
def test_accept_chooses_the_format(service: InProcessService, accept: str, media_type: str) -> None:
    reply = standard(service, "top_pages", accept=accept)

    assert reply.status == 200
    assert reply.headers["content-type"] == media_type


def test_the_name_goes_before_accept(service: InProcessService) -> None:
    reply = standard(service, "top_pages", accept="text/csv", format="ndjson")

    assert reply.headers["content-type"] == "application/x-ndjson"


def test_a_format_that_is_not_known_is_refused_with_those_that_are(
    service: InProcessService,
) -> None:
    named = standard(service, "top_pages", format="ods")
    accepted = standard(service, "top_pages", accept="application/pdf")

    assert named.status == 400
    assert named.json["error"] == (
        "'format' is 'ods'; it must be one of json, csv, ndjson, arrow, parquet, xlsx"
    )
    assert accepted.status == 406
    assert accepted.json["code"] == "NOT_ACCEPTABLE"
    assert all(format_.media_type in accepted.json["error"] for format_ in FORMATS)


@pytest.mark.parametrize("name", [format_.name for format_ in FORMATS])
def test_every_format_says_what_is_left_of_the_allowance(
    unused_service: InProcessService, name: str
) -> None:
    reply = standard(unused_service, "top_pages", format=name)

    assert reply.headers["x-ratelimit-limit"] == "30000"
    assert reply.headers["x-ratelimit-remaining"] == "29999"
