"""Paths: the picture and the table show what the API counts; a page is chosen by a click."""

import json
from pathlib import Path

from tests.browser.chromium import Chromium
from tests.flow.tenant import DAY
from tests.query.lake import a_view
from tests.web.dashboard import Dashboard, shown, signed_in
from tests.web.query_alone import query_alone

NODES = """[...document.querySelectorAll('.node')].map((node) => node.getAttribute('aria-label'))"""
AT_COLUMN = """((column, page) => {
  const nodes = [...document.querySelectorAll('.node')];
  const left = (node) => Number(node.querySelector('.whole').getAttribute('x'));
  const columns = [...new Set(nodes.map(left))].sort((a, b) => a - b);
  return nodes.find((node) => left(node) === columns[column - 1]
    && node.getAttribute('aria-label').startsWith(`${page}:`));
})"""
DETAILS = """[...document.querySelectorAll('.flow-details table')].map((table) =>
  [...table.tBodies[0].rows].map((row) =>
    [...row.cells].slice(0, 2).map((cell) => cell.innerText.trim())))"""
SIZES = """((flow) => flow && [
  Math.round(flow.getBoundingClientRect().width),
  flow.parentElement.scrollWidth, flow.parentElement.clientWidth,
])(document.querySelector('.flow'))"""


def first_pages(rows: list[dict[str, object]]) -> dict[str, int]:
    """Visits by the first page of their path."""
    counts: dict[str, int] = {}
    for row in rows:
        page = str(row["name"]).split(" → ")[0]
        counts[page] = counts.get(page, 0) + int(str(row["sessions"]))
    return counts


def test_the_picture_and_the_table_are_those_of_the_api(dashboard: Dashboard) -> None:
    dashboard.open("paths")
    rows = dashboard.ask("paths", max_steps=4)
    shown_rows = [[row[0], row[1], row[3]] for row in dashboard.rows("Paths")]
    assert shown_rows == shown(rows, "name", "sessions", "visitors")

    nodes: list[str] = dashboard.until(NODES)
    for page, visits in first_pages(rows).items():
        left = sum(row["sessions"] for row in rows if row["name"] == page)
        assert any(
            node.startswith(f"{page}: {visits} visits (") and node.endswith(f"), {left} left here")
            for node in nodes
        )


def press_node(dashboard: Dashboard, column: int, page: str) -> None:
    """Click the bar of a page in a column, counted from 1."""
    node = f"{AT_COLUMN}({column}, {json.dumps(page)})"
    dashboard.until(node)
    dashboard.tab.js(f"{node}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")


def press_key(dashboard: Dashboard, key: str) -> None:
    """On what has the focus."""
    dashboard.tab.tell("Input.dispatchKeyEvent", type="keyDown", key=key, code=key)
    dashboard.tab.tell("Input.dispatchKeyEvent", type="keyUp", key=key, code=key)


def test_a_page_that_is_clicked_shows_the_visits_through_it_and_where_they_went(
    dashboard: Dashboard,
) -> None:
    dashboard.open("paths")
    rows = dashboard.ask("paths", max_steps=4)
    paths = [(str(row["name"]).split(" → "), row["sessions"]) for row in rows]
    through = [(pages, count) for pages, count in paths if pages[1:2] == ["/pricing"]]
    onward = [(pages, count) for pages, count in through if len(pages) > 2]
    press_node(dashboard, 2, "/pricing")

    dashboard.until("location.search.includes('node=2:/pricing')")
    came, went = dashboard.tab.js(DETAILS)
    assert came == [["/", str(sum(count for _, count in through))]]
    assert ["/docs", str(sum(count for _, count in onward))] in went
    assert ["Left the website", str(sum(count for p, count in through if len(p) == 2))] in went
    assert dashboard.tab.js("document.querySelectorAll('.band.over').length") == len(
        {(at, *pages[at : at + 2]) for pages, _ in through for at in range(len(pages) - 1)}
    )
    aside = "[...document.querySelectorAll('.node.aside tspan')].map((each) => each.textContent)"
    assert set(dashboard.tab.js(aside)) <= {"0"}

    dashboard.tab.js("document.querySelector('.node[aria-pressed=true]').focus()")
    press_key(dashboard, "Escape")
    dashboard.until("!location.search.includes('node=')")


def test_the_focus_on_a_page_highlights_the_visits_through_it(dashboard: Dashboard) -> None:
    dashboard.open("paths")
    node = f"{AT_COLUMN}(1, '/')"
    dashboard.until(node)
    assert dashboard.tab.js("document.querySelectorAll('.band.over').length") == 0
    dashboard.tab.js(f"{node}.focus()")
    dashboard.until("document.querySelectorAll('.band.over').length > 0")
    press_key(dashboard, "Enter")
    dashboard.until("location.search.includes('node=1:/')")


def test_pages_are_joined_by_folder_where_asked(chromium: Chromium, tmp_path: Path) -> None:
    def names() -> list[str]:
        nodes: list[str] = dashboard.until(NODES)
        return sorted({node.split(":")[0] for node in nodes})

    paths = ["/blog/one", "/blog/two", "/about"]
    rows = [a_view(path, at=f"{DAY}T10:0{at}:00Z") for at, path in enumerate(paths)]
    with query_alone(tmp_path, rows) as tenant:
        for dashboard in signed_in(chromium, tenant):
            dashboard.open("paths")
            assert names() == ["/about", "/blog/one", "/blog/two"]
            dashboard.tab.js("document.querySelector('.card-actions input[type=checkbox]').click()")
            dashboard.until("location.search.includes('folders=1')")
            assert names() == ["/about", "/blog/*"]
            details = dashboard.text("main .wide")
            assert "numbers are still those of single page steps" in details


def test_a_phone_gets_a_list_of_each_step(dashboard: Dashboard) -> None:
    dashboard.tab.set_size(390, mobile=True)
    dashboard.open("paths")
    dashboard.until("document.querySelectorAll('.flow-list > li').length === 4")
    assert not dashboard.tab.js("Boolean(document.querySelector('svg.flow'))")
    dashboard.press("/pricing", ".flow-list > li:nth-child(2)")
    assert "Step 2:" in dashboard.text(".flow-list > li:nth-child(2) .flow-details")


def test_the_paths_from_a_page_are_shown(dashboard: Dashboard) -> None:
    dashboard.open("paths")
    press_node(dashboard, 2, "/pricing")
    dashboard.press("Paths from this page")
    dashboard.until("location.search.includes('from=/pricing')")
    dashboard.settle()
    rows = dashboard.ask("paths", max_steps=4, **{"from": "/pricing"})
    assert [row[0] for row in dashboard.rows("Paths")] == [row["name"] for row in rows]
    assert dashboard.tab.js("document.querySelector('.choices input').value") == "/pricing"


def test_a_number_of_a_path_opens_its_visitors(dashboard: Dashboard) -> None:
    dashboard.open("paths", to="/docs")
    path = "/ → /pricing → /docs"
    [row] = [row for row in dashboard.ask("paths", max_steps=4, to="/docs") if row["name"] == path]
    dashboard.press(f"{row['visitors']} visitors: show those of {path}", "main")
    of = {"name": "paths", "max_steps": 4, "to": "/docs", "path": path}
    behind = dashboard.ask("visitors", of=of)
    found = dashboard.rows(f"Visitors of {path}")
    assert sorted(dashboard.visitor_ids()) == sorted(row["visitor_id"] for row in behind)
    assert len(found) == row["visitors"]


def test_the_picture_is_as_wide_as_its_card(dashboard: Dashboard) -> None:
    for width in (1280, 1600):
        dashboard.tab.set_size(width)
        dashboard.open("paths")
        dashboard.until(f"{SIZES}?.every((width, _, [first]) => width === first)")
