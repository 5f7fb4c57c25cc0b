"""Pages by their folder and by the saved path groups of the website, in every query language."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from query.scope.path_columns import MAX_PATTERNS, path_group_of_row
from schemas.errors import Malformed
from schemas.registry import PathGroup
from tests.query.lake import a_view, a_vital, an_error
from tests.query.query_service import NOVEMBER, InProcessService, start_service
from tests.query.shared_dashboards import opened

STAMPS: dict[str, Any] = {"updated_at": 1, "organization_id": "acme"}
VIEWS: Mapping[str, int] = {
    "/": 1,
    "/blog": 2,
    "/blog/2024/x": 3,
    "/blog/50%_off": 1,
    "/product/7/reviews": 2,
    "/product/reviews": 1,
    "/product/7": 4,
    "/about": 1,
}
"""Page views of the shop by path, each of a visitor of its own."""
BLOG: Mapping[str, Any] = {"field": "path_group", "op": "eq", "value": "Blog"}
COUNT = {"field": "*", "aggregate": "count", "alias": "n"}


def group(name: str, *paths: str, at: int = 1, website: str = "shop") -> PathGroup:
    return PathGroup(
        id=f"pgrp_{website}_{name}",
        name=name,
        paths=paths,
        website_id=website,
        created_at=at,
        **STAMPS,
    )


GROUPS = (
    group("Products", "/product/*", at=3),
    group("Reviews", "/product/*/reviews", at=2),
    group("Blog", "/blog/", "/blog/**", at=1),
    group("Sale", "*50%_off*", at=4),
    group("Posts", "/blog*", website="blog"),
    group("Of others", "*", website="rival"),
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    service = start_service(tmp_path_factory.mktemp("paths"))
    for path, views in VIEWS.items():
        for n in range(views):
            service.holds(a_view(path, visitor=f"{path}{n}", session=f"{path}{n}"))
    service.holds(
        a_view(path="/blog", website_id="blog", anonymous_id="b", session_id="b"),
        a_view(path="/product/1", website_id="blog", anonymous_id="c", session_id="c"),
        an_error("lost", path="/blog/2024/x"),
        an_error("lost", path="/about"),
        a_vital("LCP", 1800, path="/product/7/reviews"),
    )
    for record in GROUPS:
        service.store.create(record)
    service.follower.refresh()
    return service


def metrics(
    service: InProcessService, dimension: str, *names: str, website: str = "shop", **more: Any
) -> dict[Any, Any]:
    body = {"metrics": list(names), "dimensions": [dimension], **NOVEMBER, **more}
    reply = service.ask("POST", "/v1/query/metrics", body, website_id=website)
    assert reply.status == 200, reply.json
    return {
        row[dimension]: tuple(row[name] for name in names) if names[1:] else row[names[0]]
        for row in reply.json["data"]
    }


def custom(service: InProcessService, group_by: str, **query: Any) -> dict[Any, Any]:
    reply = service.custom("events", [COUNT], groupBy=[group_by], **query)
    assert reply.status == 200, reply.json
    return {row[group_by]: row["n"] for row in reply.json["data"]}


def test_a_path_belongs_to_the_oldest_group_that_has_it(service: InProcessService) -> None:
    groups = {"Blog": 6, "Reviews": 2, "Products": 5, None: 2}

    assert metrics(service, "path_group", "page_views") == groups
    assert custom(service, "path_group") == groups


def test_a_folder_is_the_first_part_of_the_path(service: InProcessService) -> None:
    folders = {"/blog": 6, "/product": 7, "/": 1, "/about": 1}

    assert metrics(service, "folder", "page_views") == folders
    assert custom(service, "folder") == folders


def test_metrics_of_visits_errors_and_vitals_have_both(service: InProcessService) -> None:
    of_visits = metrics(service, "path_group", "visits", "entries", "visitors")

    assert of_visits["Blog"] == (6, 6, 6)
    assert metrics(service, "path_group", "errors") == {"Blog": 1, None: 1}
    assert metrics(service, "folder", "errors") == {"/blog": 1, "/about": 1}
    assert metrics(service, "path_group", "samples_lcp") == {"Reviews": 1}


@pytest.mark.parametrize(
    ("condition", "views"),
    [
        ({"field": "path_group", "op": "eq", "value": "Blog"}, 6),
        ({"field": "path_group", "op": "ne", "value": "Blog"}, 9),
        ({"field": "path_group", "op": "in", "value": ["Reviews", "Products"]}, 7),
        ({"field": "path_group", "op": "is_null"}, 2),
        ({"field": "path_group", "op": "contains", "value": "ro"}, 5),
        ({"not": {"field": "path_group", "op": "is_not_null"}}, 2),
        ({"field": "path_group", "op": "eq", "value": "Posts"}, 0),
        ({"field": "path_group", "op": "eq", "value": "Of others"}, 0),
        ({"field": "folder", "op": "eq", "value": "/blog"}, 6),
        ({"field": "folder", "op": "not_in", "value": ["/blog", "/"]}, 8),
        ({"has_done": {"filters": [{"field": "path_group", "op": "eq", "value": "Blog"}]}}, 6),
        ({"has_done": {"filters": [{"field": "folder", "op": "eq", "value": "/about"}]}}, 1),
    ],
)
def test_every_language_filters_by_both(
    service: InProcessService, condition: Mapping[str, Any], views: int
) -> None:
    filters = [condition]
    exported = service.ask(
        "GET", "/v1/export/events", website_id="shop", columns="path", filters=json.dumps(filters),
        format="ndjson", **NOVEMBER,
    )  # fmt: skip

    assert metrics(service, "country", "page_views", filters=filters).get(None, 0) == views
    assert sum(custom(service, "path", filters=filters).values()) == views
    pages = service.rows("top_pages", filters=filters)
    assert sum(row["pageviews"] for row in pages) == views
    assert len(exported.body.splitlines()) == views


def test_the_filter_of_a_standard_query_holds_in_all_tables(service: InProcessService) -> None:
    errors = service.rows("errors_by_page", filters=[BLOG])
    [summary] = service.rows("error_summary", filters=[BLOG])

    assert [row["name"] for row in errors] == ["/blog/2024/x"]
    assert (summary["totalErrors"], summary["errorRate"]) == (1, 14.29)  # of 7 sessions


def test_lists_leave_out_pages_without_a_group(service: InProcessService) -> None:
    def listed(name: str) -> list[tuple[str, int]]:
        return [(row["name"], row["visitors"]) for row in service.rows(name)]

    assert listed("top_path_groups") == [("Blog", 6), ("Products", 5), ("Reviews", 2)]
    assert listed("top_folders") == [("/product", 7), ("/blog", 6), ("/", 1), ("/about", 1)]


def test_exports_have_both_as_columns_that_are_asked_for(service: InProcessService) -> None:
    def lines(**query: str) -> list[dict[str, Any]]:
        reply = service.ask("GET", "/v1/export/errors", website_id="shop", **query, **NOVEMBER)
        return sorted(map(json.loads, reply.body.splitlines()), key=lambda row: row["path"])

    assert lines(columns="path,folder,path_group") == [
        {"path": "/about", "folder": "/about", "path_group": None},
        {"path": "/blog/2024/x", "folder": "/blog", "path_group": "Blog"},
    ]
    assert not {"folder", "path_group"} & lines()[0].keys()


def test_each_website_has_its_own_groups(service: InProcessService) -> None:
    groups = {"Blog": 6, "Reviews": 2, "Products": 5, "Posts": 1, None: 3}

    assert metrics(service, "path_group", "page_views", website="shop,blog") == groups
    assert metrics(service, "path_group", "page_views", website="blog") == {"Posts": 1, None: 1}


def test_steps_and_breakdowns_take_both(service: InProcessService) -> None:
    goal = {"event": "screen_view", "filters": [BLOG]}

    for breakdown, value in (("path_group", "Blog"), ("folder", "/blog")):
        rows = service.rows({"name": "goals", "goals": [goal], "breakdown": breakdown})
        reached = [(row["breakdown"], row["conversions"]) for row in rows if row["conversions"]]
        assert reached == [(value, 6)]


def test_segments_and_goals_take_both(service: InProcessService) -> None:
    saved = {
        "segments": {"name": "Readers", "filters": [BLOG]},
        "goals": {"name": "Read", "event": "screen_view", "filters": [BLOG]},
    }
    for kind, body in saved.items():
        reply = service.ask("POST", f"/v1/{kind}", body, key="acme-admin", website_id="shop")
        assert reply.status == 201, reply.json
    service.follower.refresh()

    assert metrics(service, "folder", "page_views", filters=[{"segment": "Readers"}]) == {
        "/blog": 6
    }
    of_goal = {"field": "goal", "op": "eq", "value": "Read"}
    assert metrics(service, "folder", "page_views", filters=[of_goal]) == {"/blog": 6}


def test_a_shared_dashboard_has_the_groups_of_its_website(service: InProcessService) -> None:
    everything, reviews = opened(service), opened(service, filters=[{**BLOG, "value": "Reviews"}])
    body = {"metrics": ["page_views"], "dimensions": ["path_group"]}

    assert len(everything.metrics(**body).json["data"]) == 4
    assert reviews.metrics(**body).json["data"] == [{"path_group": "Reviews", "page_views": 2}]
    assert everything.query("top_path_groups", filters=[BLOG]).json["data"][0]["data"] == [
        {"name": "Blog", "pageviews": 6, "visitors": 6, "percentage": 100.0}
    ]


def test_the_names_and_paths_of_groups_are_bound(service: InProcessService) -> None:
    fragment = path_group_of_row([group("'; DROP", "/it's", "/a_%!b*")])

    assert fragment.text == (
        "CASE WHEN website_id = $path_group0_website AND (path = $path_group0_path0 OR "
        "path LIKE $path_group0_path1 ESCAPE '!') THEN CAST($path_group0_name AS VARCHAR) END"
    )
    assert fragment.values == {
        "path_group0_website": "shop",
        "path_group0_name": "'; DROP",
        "path_group0_path0": "/it's",
        "path_group0_path1": "/a!_!%!!b%",
    }


def test_rows_without_a_path_of_the_website_have_neither(service: InProcessService) -> None:
    for table in ("sessions", "ledger", "quarantine"):
        reply = service.custom(table, [COUNT], groupBy=["path_group"])

        assert reply.status == 400
        assert reply.json["error"].startswith(f"Unknown column 'path_group' in table '{table}'")


def test_too_many_paths_are_refused() -> None:
    groups = [group(f"g{i}", *(f"/{i}/{j}" for j in range(20))) for i in range(51)]

    with pytest.raises(Malformed, match="needs the 1,020 paths of all path groups"):
        path_group_of_row(groups)
    assert path_group_of_row(groups[:50]).text.count("WHEN") == MAX_PATTERNS / 20
