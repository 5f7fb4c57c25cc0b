"""Unknown parameters of the query string are named in the response, and nothing is refused."""

from typing import Any

import pytest

from ingest.decoding.ignored_parameters import MAX_LISTED_NAMES, ignored_parameters
from tests.ingest.in_memory_collector import InMemoryCollector


def named(collector: InMemoryCollector, target: str, body: Any) -> Any:
    reply = collector.post(target, body)
    assert (reply.status, reply.json["status"]) == (200, "success"), reply.body
    return reply.json.get("ignoredParameters")


ITEM = {"name": "a"}
MIXED = {"type": "track", "name": "a"}


@pytest.mark.parametrize(
    ("target", "body"),
    [("/track?", ITEM), ("/?", MIXED), ("/batch?", [MIXED]), ("/events?", [ITEM])],
)
def test_every_route_names_them(collector: InMemoryCollector, target: str, body: Any) -> None:
    assert named(collector, f"{target}client_id=shop&wiat=stored&name=b", body) == {
        "names": ["wiat", "name"],
        "message": "'wiat' in the query string is ignored; did you mean 'wait'?; "
        "'name' in the query string is ignored; fields of items belong in the body",
    }


@pytest.mark.parametrize("query", ["client_id=shop", "website_id=shop&sdk_name=x&sdk_version=2"])
def test_known_ones_and_those_of_trackers_are_not_named(
    collector: InMemoryCollector, query: str
) -> None:
    assert named(collector, f"/track?{query}", ITEM) is None


def test_what_is_named_is_bounded() -> None:
    found = ignored_parameters(["x" * 1000, *map(str, range(100))])

    assert found is not None
    assert len(found.names) == MAX_LISTED_NAMES
    assert len(found.names[0]) == 64
