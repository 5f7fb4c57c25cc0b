"""The list of query types on the API page."""

import re
from html import unescape
from typing import Any

import pytest

from query.docs.type_list import type_list
from query.standard.query_types import FAMILIES, QUERY_TYPES
from query.standard.type_catalogue import type_config

TYPES = {query_type.name: query_type for family in FAMILIES for query_type in family}
ENTRIES = dict(
    re.findall(
        r'<details class="query-type"><summary><h3>(\w+).*?</h3>(.*?)</details>', type_list()
    )
)


def test_every_query_type_is_listed_with_all_of_its_names() -> None:
    titles = re.findall(r"<h3>(.*?)</h3>", type_list())

    assert {name for title in titles for name in title.split(" or ")} == set(QUERY_TYPES)
    assert ENTRIES.keys() == TYPES.keys()


def test_an_entry_has_description_and_fields_of_the_catalogue(subtests: pytest.Subtests) -> None:
    for name, query_type in TYPES.items():
        with subtests.test(name):
            config = type_config(query_type)
            entry = unescape(ENTRIES[name])

            assert f"<span>{config['description']}</span>" in entry
            columns: Any = config["columns"]
            assert re.findall(r'<th scope="row">(.*?)</th>', entry) == [c["name"] for c in columns]


def test_options_granularity_and_limits_are_named() -> None:
    assert "Options: steps, window, by, breakdown, breakdown_limit<" in ENTRIES["funnel"]
    assert "Rows: 1000 by default, at most 10000<" in ENTRIES["funnel"]
    assert "Granularity: " in ENTRIES["events_by_date"]
