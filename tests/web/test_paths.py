"""Paths: the picture and the table show what the API counts; a page is chosen by a click."""

from tests.web.dashboard import Dashboard, shown

NODES = """[...document.querySelectorAll('.node')].map((node) => node.getAttribute('aria-label'))"""
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
        onward = visits - sum(row["sessions"] for row in rows if row["name"] == page)
        assert f"{page}: {visits} visits, {onward} viewed another page" in nodes


def test_a_click_on_a_page_shows_the_paths_from_it(dashboard: Dashboard) -> None:
    dashboard.open("paths")
    node = "document.querySelector('.node[aria-label^=\"/pricing:\"]')"
    dashboard.until(node)
    dashboard.tab.js(f"{node}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
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
    assert sorted(row[0] for row in found) == sorted(
        "Ada" if v["traits"] else v["visitor_id"] for v in behind
    )
    assert len(found) == row["visitors"]


def test_the_picture_is_as_wide_as_its_card(dashboard: Dashboard) -> None:
    for width in (1280, 1600):
        dashboard.tab.set_size(width)
        dashboard.open("paths")
        dashboard.until(f"{SIZES}?.every((width, _, [first]) => width === first)")
