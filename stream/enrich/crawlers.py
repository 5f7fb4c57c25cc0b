"""Programs by their user agent: the published list, then rules of our own, with what each one is.

The list's 1,500 patterns go through the engine of the user agent parser, which tries all of them in
2 µs; a loop of `re` takes 500.
"""

import re

from crawleruseragents import CRAWLER_USER_AGENTS_DATA
from msgspec import Struct
from ua_parser_rs import UserAgentExtractor

LIBRARY = "http library"
HEADLESS = "headless browser"
SORTS = {
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

PEOPLE = (
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

APPS = ("okhttp", "Dart", "CFNetwork", "Dalvik")
"""Libraries that phone apps send with: likely to be a program, but as likely an app's user."""

WITHOUT_A_HEAD = r"(?i)Headless|PhantomJS|SlimerJS"
OWN = (
    ("automation", r"\b(Cypress|WebDriver|Puppeteer|TestCafe|Katalon)\b"),
    (
        LIBRARY,
        r"^(node(?=$|/)|undici|Bun|Deno|Java|Java-http-client|GuzzleHttp|Ruby|Faraday|Symfony"
        r"|PHP|Perl|Python|PostmanRuntime|insomnia|k6|libcurl|RestSharp|Dart|Dalvik|reqwest"
        r"|hyper|lua-resty-http|Typhoeus|http\.rb|unirest|superagent|ky)(?=$|[ /;(])",
    ),
    (LIBRARY, r"\b(\w*PowerShell|CFNetwork)\b"),
    (
        "crawler",
        r"(?i)(?<![\w.-])((?!Cubot\b)[\w.-]{0,40}(?:bot|crawler|spider|scraper|fetcher))\b",
    ),
)
"""What the list does not know: what a program is, and how it is called."""

LETTERS = 48
"""Characters of a name that are kept."""

_headless = re.compile(WITHOUT_A_HEAD)
_own = [(sort, re.compile(pattern)) for sort, pattern in OWN]
_listed = UserAgentExtractor(
    # What matched becomes the family; the entry's first tag stands where a version would.
    (f"({entry['pattern']})", None, entry["tags"][0], "0", "0", "0")
    for entry in CRAWLER_USER_AGENTS_DATA
    if entry["pattern"] not in PEOPLE
)
_COMPATIBLE = re.compile(r"compatible;\s*([A-Za-z][\w.-]*)")
_AROUND = " /()[];:,.+-_"


class Program(Struct, frozen=True):
    """What a program is, and its name: `preview`, `Slackbot`."""

    sort: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.sort}: {self.name}" if self.name else self.sort


def program_of(text: str) -> Program | None:
    """The program that a user agent names; None for what may be a person's browser."""
    if not text.strip():
        return Program("empty user agent")
    if _headless.search(text):
        return Program(HEADLESS)
    listed = _listed.extract(text)
    if listed is not None:
        return Program(SORTS.get(listed.major or "", "crawler"), _name(listed.family, text))
    for sort, rule in _own:
        if found := rule.search(text):
            return Program(sort, _name(found[1], text))
    return None


def _name(matched: str, text: str) -> str:
    """The program's own name, where the list knows it by its web page."""
    named = _COMPATIBLE.search(text) if "." in matched or "/" in matched.strip(_AROUND) else None
    return (named[1] if named else matched).strip(_AROUND)[:LETTERS]
