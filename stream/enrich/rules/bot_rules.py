"""Bots by their user agent: the published list and rules of our own, with a category for each.

The list has 1,500 patterns and is updated with its package.
"""

import re

from crawleruseragents import CRAWLER_USER_AGENTS_DATA
from msgspec import Struct

from stream.enrich.rules.user_agent_parser import PatternRules

LIBRARY = "http library"
HEADLESS = "headless browser"
HUMAN = ""
CATEGORIES = {
    "search-engine": "crawler",
    "seo": "seo",
    "monitoring": "monitor",
    "scanner": "scanner",
    "advertising": "advertising",
    "social-preview": "preview",
    "feed-reader": "feed reader",
    "ai-crawler": "ai",
    "http-library": LIBRARY,
    "archiver": "archiver",
    "academic": "research",
    "browser-automation": "automation",
}
"""Category of a bot by its tag in the list."""

HUMAN_PATTERNS = (
    r"AP3A\.240617\.008",  # an Android build on ordinary phones
    r"MetaIAB Facebook",  # Facebook's browser in its own app
    r"Code\/1\.",  # editors with a built-in browser
    r"Trae\/",
    r"Fluid",  # a browser for one site
    r"Notion\/",  # apps that open pages
    r"Tumblr\/",
    r"Viber",
)
"""Patterns of the list that match browsers of people."""

APP_LIBRARIES = ("okhttp", "Dart", "CFNetwork", "Dalvik")
"""HTTP libraries that phone apps use too: only a hint, as the sender may be an app's user."""

HEADLESS_RULE = (HEADLESS, r"(?i)(Headless|PhantomJS|SlimerJS)")
"""Before the list, which has another name for them."""

OWN_RULES = (
    ("automation", r"\b(Cypress|WebDriver|Puppeteer|TestCafe|Katalon)\b"),
    (
        LIBRARY,
        r"^(node|undici|Bun|Deno|Java|Java-http-client|GuzzleHttp|Ruby|Faraday|Symfony|PHP|Perl"
        r"|Python|PostmanRuntime|insomnia|k6|libcurl|RestSharp|Dart|Dalvik|reqwest|hyper"
        r"|lua-resty-http|Typhoeus|http\.rb|unirest|superagent|ky)(?:$|[ /;(])",
    ),
    (LIBRARY, r"\b([A-Za-z]*PowerShell|CFNetwork)\b"),
    (HUMAN, r"(?i)\b(cubot)\b"),  # a maker of phones
    ("crawler", r"(?i)\b([a-z0-9_.-]*(?:bot|crawler|spider|scraper|fetcher))\b"),
)
"""After the list, for bots that it lacks: category and a pattern around the name."""

MAX_NAME_LENGTH = 48
"""Characters of a name that are stored."""

_rules = PatternRules(
    (
        HEADLESS_RULE,
        *(
            (CATEGORIES.get(entry["tags"][0], "crawler"), f"({entry['pattern']})")
            for entry in CRAWLER_USER_AGENTS_DATA
            if entry["pattern"] not in HUMAN_PATTERNS
        ),
        *OWN_RULES,
    )
)
_COMPATIBLE = re.compile(r"compatible;\s*([A-Za-z][\w.-]*)")
_AROUND = " /()[];:,.+-_"


class Bot(Struct, frozen=True):
    """Category and name of a bot: `preview`, `Slackbot`."""

    category: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.category}: {self.name}" if self.name else self.category


def bot_of(text: str) -> Bot | None:
    """The bot that a user agent names; None for a browser."""
    if not text.strip():
        return Bot("empty user agent")
    category, matched = _rules.first_match(text) or (HUMAN, "")
    if category in (HUMAN, HEADLESS):
        return Bot(HEADLESS) if category else None
    return Bot(category, _name(matched, text))


def _name(matched: str, text: str) -> str:
    """The matched name; the one after `compatible;` when the pattern matched a URL."""
    compatible = (
        _COMPATIBLE.search(text) if "." in matched or "/" in matched.strip(_AROUND) else None
    )
    return (compatible[1] if compatible else matched).strip(_AROUND)[:MAX_NAME_LENGTH]
