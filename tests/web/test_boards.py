"""Boards: made by clicking, in an order that stays, as a file and back."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.http_client import call
from tests.web.dashboard import Dashboard
from tests.web.downloads import KEEP_FILE
from tests.web.test_accessibility import violations
from tests.web.test_import_upload import choose

QUESTION = {"metrics": ["page_views"], "dimensions": ["path"]}
CARDS = "[...document.querySelectorAll('.board .card')].map((card) => card.ariaLabel)"
DRAFTS = "[...document.querySelectorAll('.board-draft h2')].map((name) => name.innerText)"


def ask(page: Dashboard, method: str, path: str, body: Any = None) -> Any:
    """What the API answers about saved records of the website."""
    url = f"{page.url}/v1/{path}?website_id={page.tenant.website.id}"
    reply = call(method, url, body, {"authorization": f"Bearer {page.tenant.key}"})
    assert reply.status < 300, reply.body
    return reply.json.get("data")


@pytest.fixture
def boards(page: Dashboard) -> Iterator[Dashboard]:
    """The dashboard of a website with one saved exploration, and no boards afterwards."""
    ask(page, "POST", "explorations", {"name": "Pages by views", "metricsQuery": QUESTION})
    yield page
    for kind in ("boards", "explorations"):
        for record in ask(page, "GET", kind):
            ask(page, "DELETE", f"{kind}/{record['id']}")


def a_board(page: Dashboard) -> dict[str, Any]:
    """A board with a text, a card and an exploration."""
    [exploration] = ask(page, "GET", "explorations")
    tiles = [
        {"text": "What we look at.\n\nOn Mondays.", "title": "Why", "width": 3},
        {"card": "sources", "width": 2},
        {"exploration": exploration["id"]},
    ]
    made: dict[str, Any] = ask(page, "POST", "boards", {"name": "Mondays", "tiles": tiles})
    return made


def test_a_board_is_made_arranged_and_deleted_by_clicking(boards: Dashboard) -> None:
    boards.open("boards")
    boards.press("New board")
    boards.type_into("dialog input[name=name]", "Checkout")
    boards.press("Save", "dialog")
    boards.press("Add a card of the overview")
    boards.press("Pages", ".popover:popover-open")
    boards.press("Add a text")
    boards.type_into("textarea[name=text]", "Read this first.")
    boards.press("Add a saved exploration")
    boards.press("Pages by views", ".popover:popover-open")
    boards.until(f"({DRAFTS}).length === 3")
    boards.press("Move Text earlier")
    boards.until(f"({DRAFTS})[0] === 'Text'")
    focused = boards.tab.js("document.activeElement.ariaLabel")
    boards.press("Save", "main")
    boards.until(f"({CARDS}).length === 3")
    boards.open(boards.path.split("/", 2)[2])

    assert focused == "Move Text later"  # at the beginning nothing is earlier
    assert boards.until(CARDS) == ["Text", "Pages", "Pages by views"]
    assert boards.rows("Pages by views")[0][0] == "/"
    boards.press("Delete …")
    boards.press("Delete", "dialog")
    boards.until("location.pathname.endsWith('/boards')")
    boards.until("document.querySelector('main .empty')")
    assert ask(boards, "GET", "boards") == []


def test_a_tile_is_dragged_to_the_place_of_another(boards: Dashboard) -> None:
    board = a_board(boards)
    boards.open(f"boards/{board['id']}", edit="1")
    boards.until(f"({DRAFTS}).length === 3")
    for kind, grip in (("mousePressed", 2), ("mouseMoved", 0), ("mouseReleased", 0)):
        x, y = boards.tab.js(
            "(({ x, y }) => [x + 12, y + 12])"
            f"(document.querySelectorAll('.board-grip')[{grip}].getBoundingClientRect())"
        )
        boards.tab.tell(
            "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1
        )

    boards.until(f"({DRAFTS})[0] === 'Pages by views'")
    assert boards.tab.js(DRAFTS) == ["Pages by views", "Why", "Sources"]


def test_a_board_is_a_file_that_brings_its_explorations(boards: Dashboard) -> None:
    board = a_board(boards)
    boards.open(f"boards/{board['id']}")
    boards.tab.js(KEEP_FILE)
    boards.press("Export")
    boards.until("!!window.file")
    text = boards.tab.js("window.file.text()")
    ask(boards, "DELETE", f"boards/{board['id']}")
    [exploration] = ask(boards, "GET", "explorations")
    ask(boards, "DELETE", f"explorations/{exploration['id']}")
    boards.open("boards")
    boards.press("Import …")
    choose(boards, "mondays.json", text.encode())
    boards.until("document.querySelector('dialog input[name=name]')?.value === 'Mondays'")
    boards.press("Import", "dialog")
    boards.until(f"({CARDS}).length === 3")

    [again], [restored] = ask(boards, "GET", "boards"), ask(boards, "GET", "explorations")
    assert json.loads(text) == {
        "name": "Mondays",
        "tiles": [
            {"text": "What we look at.\n\nOn Mondays.", "title": "Why", "width": 3},
            {"card": "sources", "width": 2},
            {"exploration": {"name": "Pages by views", "metricsQuery": QUESTION}},
        ],
    }
    assert again["tiles"] == [*board["tiles"][:2], {"exploration": restored["id"]}]
    assert restored["metricsQuery"] == QUESTION


def test_a_file_that_is_no_board_is_refused_with_the_reason(boards: Dashboard) -> None:
    boards.open("boards")
    boards.press("Import …")
    choose(boards, "board.json", b'{"name": "Mondays", "tiles": [{"card": "pages"}, {}]}')

    assert boards.text("dialog .error") == (
        "Tile 2 of the file has no exploration with a name, no card and no text."
    )


def test_an_exploration_is_added_to_a_board(boards: Dashboard) -> None:
    [exploration] = ask(boards, "GET", "explorations")
    boards.open(f"explore/{exploration['id']}")
    boards.press("Add to a board …")
    boards.type_into("dialog input[name=name]", "From Explore")
    boards.press("Add", "dialog")
    boards.press("Open the board")

    boards.until("location.pathname.includes('/boards/')")
    assert boards.until(f"(cards => cards.length && cards)({CARDS})") == ["Pages by views"]


@pytest.mark.parametrize("width", [390, 1440])
def test_a_board_fits_and_breaks_no_rule_of_wcag(boards: Dashboard, width: int) -> None:
    boards.tab.set_size(width)
    board = a_board(boards)
    shown = {}
    for edit in ("", "1"):
        boards.open(f"boards/{board['id']}", edit=edit)
        boards.settle()
        shown[edit] = (
            violations(boards),
            boards.tab.js("document.documentElement.scrollWidth <= innerWidth"),
        )

    assert shown == {"": ([], True), "1": ([], True)}
