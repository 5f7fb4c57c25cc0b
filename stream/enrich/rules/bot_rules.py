"""Programs by their user agent: the published list, then rules of our own, with what each one is.

The list has 1,500 patterns; it is refreshed with its package.
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
"""What a program is, by the list's tag for it."""

HUMAN_PATTERNS = (
    r"AP3A\.240617\.008",  # a build of Android on phones that people hold
    r"MetaIAB Facebook",  # Facebook's browser in its own app
    r"Code\/1\.",  # editors with a browser in them
    r"Trae\/",
    r"Fluid",  # a browser for one site
    r"Notion\/",  # apps that open pages
    r"Tumblr\/",
    r"Viber",
)
"""Patterns of the list that flag persons."""

APP_LIBRARIES = ("okhttp", "Dart", "CFNetwork", "Dalvik")
"""Libraries that phone apps send with: likely to be a program, but as likely an app's user."""

HEADLESS_RULE = (HEADLESS, r"(?i)(Headless|PhantomJS|SlimerJS)")
"""Before the list, which calls them otherwise."""

OWN_RULES = (
    ("automation", r"\b(Cypress|WebDriver|Puppeteer|TestCafe|Katalon)\b"),
    (
        LIBRARY,
        r"^(node|undici|Bun|Deno|Java|Java-http-client|GuzzleHttp|Ruby|Faraday|Symfony|PHP|Perl"
        r"|Python|PostmanRuntime|insomnia|k6|libcurl|RestSharp|Dart|Dalvik|reqwest|hyper"
        r"|lua-resty-http|Typhoeus|http\.rb|unirest|superagent|ky)(?:$|[ /;(])",
    ),
    (LIBRARY, r"\b([A-Za-z]*PowerShell|CFNetwork)\b"),
    (HUMAN, r"(?i)\b(cubot)\b"),  # makes phones
    ("crawler", r"(?i)\b([a-z0-9_.-]*(?:bot|crawler|spider|scraper|fetcher))\b"),
)
"""After the list, what it does not know: what a program is, and how it is called."""

MAX_NAME_LENGTH = 48
"""Characters of a name that are kept."""

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
    """What a program is, and its name: `preview`, `Slackbot`."""

    category: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.category}: {self.name}" if self.name else self.category


def bot_of(text: str) -> Bot | None:
    """The program that a user agent names; None for what may be a person's browser."""
    if not text.strip():
        return Bot("empty user agent")
    sort, matched = _rules.first_match(text) or (HUMAN, "")
    if sort in (HUMAN, HEADLESS):
        return Bot(HEADLESS) if sort else None
    return Bot(sort, _name(matched, text))


def _name(matched: str, text: str) -> str:
    """The program's own name, where the list knows it by its web page."""
    named = _COMPATIBLE.search(text) if "." in matched or "/" in matched.strip(_AROUND) else None
    return (named[1] if named else matched).strip(_AROUND)[:MAX_NAME_LENGTH]
