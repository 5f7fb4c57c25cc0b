"""Path groups on the page: made in set-up, then a tab of pages, a dimension and a filter."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.web.dashboard import Dashboard
from tests.web.test_accessibility import violations

TITLE = "Path groups"


@pytest.fixture
def clean(dashboard: Dashboard) -> Iterator[Dashboard]:
    """A page whose website has no groups, before and after."""
    yield dashboard
    for group in groups(dashboard):
        dashboard.client.delete_saved("path_groups", group["id"])


def groups(dashboard: Dashboard) -> list[dict[str, Any]]:
    return list(dashboard.client.saved("path_groups", dashboard.tenant.website.id))


def test_a_group_is_made_changed_and_deleted(clean: Dashboard) -> None:
    clean.open("setup", part="path-groups")
    clean.press("Add a group")
    clean.type_into("dialog input[name=name]", "Shop")
    clean.type_into("dialog textarea[name=paths]", "/pricing\n/docs/*\n")
    clean.press("Save", "dialog")
    clean.until("!document.querySelector('dialog')")
    clean.settle()
    assert [row[:2] for row in clean.rows(TITLE)] == [["Shop", "/pricing, /docs/*"]]
    assert violations(clean) == []

    clean.press("Edit Shop")
    clean.type_into("dialog input[name=name]", "Offers")
    clean.press("Save", "dialog")
    clean.until("!document.querySelector('dialog')")
    clean.settle()
    [group] = groups(clean)
    assert (group["name"], group["paths"]) == ("Offers", ["/pricing", "/docs/*"])

    clean.press("Delete Offers")
    clean.press("Delete", "dialog form")
    clean.until("document.querySelector('main')?.innerText.includes('There is no group yet')")
    assert groups(clean) == []


def test_groups_are_a_tab_of_pages_a_dimension_and_a_filter(clean: Dashboard) -> None:
    by_path = {row["path"]: row["page_views"] for row in clean.metrics(
        "page_views", dimensions=["path"])}  # fmt: skip
    website = clean.tenant.website.id
    clean.client.create_saved("path_groups", website, name="Home", paths=["/"])
    clean.client.create_saved("path_groups", website, name="Others", paths=["/*"])
    home = by_path["/"]
    others = sum(by_path.values()) - home

    clean.open("explore", ask=json.dumps(
        {"metrics": ["page_views"], "dimensions": ["path_group"]}))  # fmt: skip
    clean.settle()
    shown = {row[0]: row[1] for row in clean.rows("Page views by Path group")}
    assert shown == {"Home": f"{home:,}", "Others": f"{others:,}"}

    folders = Counter[str]()
    for path, views in by_path.items():
        folders["/" + path.split("/")[1]] += views
    clean.open("explore", ask=json.dumps(
        {"metrics": ["page_views"], "dimensions": ["folder"]}))  # fmt: skip
    clean.settle()
    assert {row[0]: row[1] for row in clean.rows("Page views by Folder")} == {
        folder: f"{views:,}" for folder, views in folders.items()
    }

    clean.open("list/top_path_groups")
    clean.settle()
    assert {row[0] for row in clean.rows("Groups")} == {"Home", "Others"}
    clean.open("overview", pages="top_path_groups")
    clean.settle()
    clean.press("Home")
    clean.until("decodeURIComponent(location.search).includes('path_group')")
    clean.settle()
    [row] = clean.metrics(
        "page_views", filters=[{"field": "path_group", "operator": "eq", "value": "Home"}]
    )
    assert row["page_views"] == home
