"""The page in German: no English is left, nothing is wider than its box, the choice is kept."""

import json
import subprocess
from collections.abc import Iterator

import pytest

from tests.browser.chromium import SECONDS, Chromium, ProtocolError
from tests.browser.tab import Tab
from tests.flow.tenant import Tenant
from tests.installation import eventually
from tests.repo.source_tree import ROOT
from tests.web.dashboard import RANGE, Dashboard, signed_in
from tests.web.share_links import share
from tests.web.test_accessibility import OPENED, views

SETUP_PARTS = (
    *(
        "money",
        "alerts",
        "channels",
        "reports",
        "imports",
        "privacy",
        "shields",
        "visitors",
        "system",
    ),
    *("websites", "keys", "organization", "audit"),
)
TWO_SCALES = {
    "metrics": ["visits", {"metric": "formula", "formula": "visits * 100", "as": "hundred"}],
    "dimensions": ["time:hour"],
}
ENGLISH_TEXTS = """
import { build } from "esbuild";
const read = async (name) => {
  const options = { entryPoints: [`src/${name}.ts`], bundle: true, format: "esm", write: false };
  const [{ text }] = (await build(options)).outputFiles;
  const { texts } = await import("data:text/javascript," + encodeURIComponent(text));
  return { whole: new Set(flat(texts)), parts: new Set(functions(texts).flatMap(partsOf)) };
};
const members = (value) => (typeof value === "object" && value ? Object.values(value) : []);
const flat = (value) => (typeof value === "string" ? [value] : members(value).flatMap(flat));
const functions = (value) =>
  typeof value === "function" ? [value] : members(value).flatMap(functions);
const partsOf = (text) => {
  const made = text(...Array(text.length).fill("|"));
  return typeof made === "string" ? made.split("|").map((part) => part.trim()) : [];
};
const [english, other] = [await read("texts"), await read("texts.LANGUAGE")];
const isWord = (text) => text.length > 2; // units and keys are one letter
const only = (name) =>
  [...english[name]].filter((text) => isWord(text) && !other[name].has(text));
console.log(JSON.stringify({
  whole: only("whole"), parts: only("parts").filter((text) => /[a-z]{3}.* /.test(text)),
}));
"""
"""Prints what another language has in other words: texts, and the words around their values."""
READ = """(({ whole, parts }) => {
  const shown = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const parent = node.parentElement;
    if (!parent.checkVisibility() || parent.closest('script, pre, code')) continue;
    shown.push(node.data.trim());
  }
  for (const name of ['aria-label', 'title', 'placeholder']) {
    for (const element of document.querySelectorAll(`[${name}]`))
      shown.push(element.getAttribute(name).trim());
  }
  const known = new Set(whole);
  return [...new Set(shown)].filter((text) =>
    known.has(text) || parts.some((part) => text.includes(part)));
})"""
OUTSIDE = """(() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const parent = node.parentElement;
    const box = parent.closest('button, .card, dialog, nav, header, main');
    if (!node.data.trim() || !box || !parent.checkVisibility()) continue;
    let clipped = false;
    for (let at = parent; at && at !== box.parentElement; at = at.parentElement) {
      if (getComputedStyle(at).overflowX !== 'visible') clipped = true;
    }
    if (clipped) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const { left, right } = box.getBoundingClientRect();
    const isOutside = (at) => at.width && (at.right > right + 1 || at.left < left - 1);
    if ([...range.getClientRects()].some(isOutside)) found.push(node.data.trim());
  }
  return found;
})()"""
"""Texts that go on beyond the button, the card or the part of the page that they stand in."""


def prefer(tab: Tab, languages: str) -> None:
    """Prefer these languages, as the settings of a browser would."""
    agent = tab.js("navigator.userAgent")
    tab.tell("Emulation.setUserAgentOverride", userAgent=agent, acceptLanguage=languages)


def language(page: Dashboard) -> str:
    """The language of the page; nothing while it is loaded anew."""
    try:
        return str(page.tab.js("document.documentElement.lang"))
    except ProtocolError:
        return ""


@pytest.fixture(scope="module")
def english() -> dict[str, list[str]]:
    """English texts that German has in other words."""
    command = ["node", "--input-type=module", "-e", ENGLISH_TEXTS.replace("LANGUAGE", "de")]
    printed = subprocess.run(command, cwd=ROOT / "query/web", capture_output=True, check=True)
    texts: dict[str, list[str]] = json.loads(printed.stdout)
    return texts


@pytest.fixture
def german(chromium: Chromium, shop: Tenant) -> Iterator[Dashboard]:
    """The dashboard in a browser that prefers German."""
    for dashboard in signed_in(chromium, shop):
        prefer(dashboard.tab, "de-AT,en")
        yield dashboard


@pytest.mark.parametrize("width", [390, pytest.param(1440, marks=pytest.mark.long)])
def test_every_view_is_german_and_fits(
    german: Dashboard, english: dict[str, list[str]], width: int
) -> None:
    german.tab.set_size(width)
    german.open("overview")
    wrong = {}
    opened: list[tuple[str, dict[str, str]]] = [(view, {}) for view in [*views(german), *OPENED]]
    opened.append(("explore", {"ask": json.dumps(TWO_SCALES), "average": "7"}))
    for view, query in [*opened, *(("setup", {"part": part}) for part in SETUP_PARTS)]:
        german.open(view, **query)
        remainder = german.tab.js(f"({READ})({json.dumps(english)})")
        outside = german.tab.js(OUTSIDE)
        if german.tab.js("document.documentElement.scrollWidth") > width:
            outside.append("the page")
        if remainder or outside:
            wrong[f"{view} {query.get('part', '')}"] = (remainder, outside)
    assert wrong == {}


def test_formats_and_names_go_with_the_language(german: Dashboard) -> None:
    german.open("list/country")

    assert german.tab.js("document.documentElement.lang") == "de"
    assert german.text("h1") == "Länder"
    assert "Deutschland" in german.text("main table")
    german.open("overview", period="2025-05-01..2025-05-02")
    assert "1.–2. Mai 2025" in german.text(".period").splitlines()


@pytest.mark.parametrize("languages", ["fr-FR,nl", "en-GB,de"])
def test_other_browsers_get_english(chromium: Chromium, small: Tenant, languages: str) -> None:
    for page in signed_in(chromium, small):
        prefer(page.tab, languages)
        page.open("overview")

        assert page.tab.js("document.documentElement.lang") == "en"
        assert page.text("h1") == "Overview"


def test_a_shared_dashboard_has_the_language_of_the_browser(
    dashboard: Dashboard, visitor: Dashboard
) -> None:
    link = share(dashboard, "in German")
    prefer(visitor.tab, "de")
    visitor.tab.go(f"{link}/overview?period={RANGE}")
    visitor.settle()

    assert visitor.text("h1") == "Übersicht"
    assert visitor.text(".chip.fixed") == "Land ist Deutschland"


def test_a_choice_is_kept_and_given_up(page: Dashboard) -> None:
    page.open("overview")
    page.press("Menu", "header.rail")
    page.press("Deutsch", ".popover:popover-open")
    eventually(lambda: language(page) == "de", SECONDS)
    page.open("live")
    assert language(page) == "de"
    page.press("Menü", "header.rail")
    page.press("Wie der Browser", ".popover:popover-open")
    eventually(lambda: language(page) == "en", SECONDS)
    page.open("live")
    assert language(page) == "en"
