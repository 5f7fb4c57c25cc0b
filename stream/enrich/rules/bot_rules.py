"""Bots by their user agent: the published list, then general patterns, with a purpose for each.

The list has 1,500 patterns and is updated with its package. It and the general patterns see a user
agent without the phone's model, which may be any word: `M bot 54`, `ViewSonic`.
"""

import re

from crawleruseragents import CRAWLER_USER_AGENTS_DATA
from msgspec import Struct

from stream.enrich.rules.user_agent_parser import PatternRules, without_model

LIBRARY = "http library"
HEADLESS = "headless browser"
AI_CRAWLER = "ai crawler"
AI_ASSISTANT = "ai assistant"
CRAWLER = "crawler"
"""A bot whose purpose nothing says."""
HUMAN = ""
CATEGORIES = {
    "search-engine": "search",
    "seo": "seo",
    "monitoring": "monitor",
    "scanner": "scanner",
    "advertising": "advertising",
    "social-preview": "preview",
    "feed-reader": "feed reader",
    "ai-crawler": AI_CRAWLER,
    "http-library": LIBRARY,
    "archiver": "archiver",
    "academic": "research",
    "browser-automation": "automation",
}
"""Purpose of a bot by its tag in the list."""

UNSPECIFIC = (CRAWLER, "seo", "search", "automation")
"""Purposes that the list gives to AI crawlers too."""

AI_TAG = "ai-crawler"
"""Wins over the other tags of an entry."""

LIST_CHANGES = {
    r"AP3A\.240617\.008": "",  # an Android build on ordinary phones
    r"MetaIAB Facebook": "",  # Facebook's browser in its own app
    r"Code\/1\.": "",  # editors with a built-in browser
    r"Trae\/": "",
    r"Fluid": "",  # a browser for one site
    r"Notion\/": r"^Notion\/",  # an app that opens pages has the name at the end
    r"Tumblr\/": r"^Tumblr\/[0-9.]+$",
    r"Viber": r"^Viber$",
    r"Podimo": r"^Podimo\/[0-9.]+ \(\+",  # an app
    r"Sogou": r"(?i:Sogou (?:[a-z]+ )?spider)",  # browsers of the same maker
    r"WhatsApp": r"^WhatsApp(?:\/[0-9.]+)?(?: [A-Za-z])?$",  # the app adds the phone
}
"""Patterns of the list that match browsers of people, and narrower ones; empty: left out."""

APP_LIBRARIES = ("okhttp", "Dart", "CFNetwork", "Dalvik")
"""HTTP libraries that phone apps use too: only a hint, as the sender may be an app's user."""

HEADLESS_RULE = (HEADLESS, r"(?i)(Headless|PhantomJS|SlimerJS)")
"""Before the list, which has another name for them."""

OWN_RULES = (
    ("automation", r"\b(Cypress|WebDriver|Puppeteer|TestCafe|Katalon|azure-logic-apps)\b"),
    (
        LIBRARY,
        r"^(node|undici|Bun|Deno|Java|Java-http-client|GuzzleHttp|Ruby|Faraday|Symfony|PHP|Perl"
        r"|Python|PostmanRuntime|insomnia|k6|libcurl|RestSharp|Dart|Dalvik|reqwest|hyper"
        r"|lua-resty-http|Typhoeus|http\.rb|unirest|superagent|ky|ApacheBench)(?:$|[ /;(])",
    ),
    (LIBRARY, r"\b([A-Za-z]*PowerShell|CFNetwork)\b"),
    (
        "monitor",
        r"(?i)(Route.?53.Health.Check|PageSpeed|Page Speed|collectd|munin\b|Grafana|Prometheus"
        r"|Site24x7|HTTPMon|WebMon|partner_monitoring|Cloudflare-?(?:Diagnostics|Observatory)"
        r"|Dynatrace|Matomo/|internal dummy connection)",
    ),
    (
        "preview",
        r"(?i)(Cardyb|ms-office|^Microsoft Office(?: Existence| Protocol)?[ /][0-9D]"
        r"|ViberUrlDownloader|facebookexternal|via .*mail.*\bproxy\b|Mail ?Proxy"
        r"|PocketImageCache|Rocket\.?Chat/[0-9.]+ \()",
    ),
    (
        "scanner",
        r"(?i)(Barracuda|Proofpoint|Mimecast|MessageLabs|MailScanner|SpamAssassin|UrlDefense"
        r"|IronPort|Secure-Email|SafeLinks|FireEye|Sophos(?:Labs| )|Zscaler|Trend ?Micro)",
    ),
    ("feed reader", r"(?i)(RSS Reader|FeedReader)"),
    (HUMAN, r"(?i)(\bcubot\b|DeveloperPreview)"),  # a maker of phones, and Firefox 3.7
    (
        CRAWLER,
        r"(?i)([a-z0-9_.-]*(?:bots?|crawl(?:er|ing)?|spider|scraper?|fetcher|scan(?:ner)?"
        r"|check(?:er|s)?|monitor(?:ing|s)?|probe|previews?|prober|validator"
        r"|verif(?:y|ier|ication)|uptime|audit|grabber|archiver|indexer|parser|extractor|recon"
        r"|analyzer|research|thumbnails?|linkexpander|imageproxy|dcv|inspector|synthetics?"
        r"|unfurl(?:er)?|metadata[a-z]*|onebox|prerender|transcoder|collector))(?:$|[^A-Za-z])",
    ),
    (CRAWLER, r"\b(Google-[A-Za-z][\w-]*|[A-Za-z]+-Google)\b"),
    (CRAWLER, r"(Google Search Console|GitHubCopilot\w*|GoogleAdSense\w*|^Google\w*$)"),
    (  # apps
        HUMAN,
        r"(?i)^(?:[^m]|m[^o]|mo[^z]).*(\b(?:android|ios|ipados|iphone|ipad|podcasts?)\b)",
    ),
    (CRAWLER, r"(\+ ?(?:https?://|mailto:))"),
    (CRAWLER, r"(^https?://|\((?:https?://|www\.))"),
    (CRAWLER, r"^(?:[^M]|M[^o]|Mo[^z]).*(https?://)"),
    ("scanner", r"(\$\{|\{\{|<\?)"),
    (CRAWLER, r"^Mozilla/[0-9.]+ \(?([\w.-]+)(?:/[\w.]+)?\)?$"),
    (CRAWLER, r"([\w.+-]+@[\w-]+\.[a-z]{2,})"),
    (
        HUMAN,
        r"(compatible; ?(?:MSIE [0-9]|Konqueror|U;|Windows|Linux|Android|IBrowse|Net|OffByOne"
        r"|OmniWeb|iCab|Polaris|ANT|NCB|Gecko|Voyager|AmigaVoyager|Mozilla))",
    ),  # old browsers
    (CRAWLER, r"[;)(] ?compatible; ?(\w[\w.-]*)"),
)
"""After the list, for bots that it lacks: purpose and a pattern around what shows them."""

PURPOSES = (
    (
        AI_ASSISTANT,
        r"(?i)(-?User/|PerplexityUser|DuckAssist|Deep-?Research|NotebookLM|GeminiNotebook|Pinpoint"
        r"|NovaAct|Character-AI|GoogleAgent|BuyForMe|\bDevin\b|linkReader|AI-User|externalfetcher"
        r"|(?:ChatGPT|Claude|Perplexity|MistralAI|Kimi|Amzn|Manus)-User|Copilot)",
    ),
    (
        AI_CRAWLER,
        r"(?:\bAI\b|[a-z]AI\b|\bAI[A-Z-]|GPT|LLM|Claude|Gemini|Anthropic|Cohere|Mistral|Kimi"
        r"|Qwen|Applebot-Extended|\.ai/|\bYouBot|PanguBot|Groq|Replicate|Together-Bot|HuggingFace"
        r"|(?i:deepseek|webz\.?io|crawlspace|diffbot|ai2bot|imagesift|andibot|prorata))",
    ),
    (
        "preview",
        r"(?i)(preview|unfurl|metadata|onebox|linkexpander|misskey|akkoma|pleroma|mastodon|peertube"
        r"|friendica|gotosocial|pixelfed|lemmy|sharkey|iceshrimp|mobilizon|bookwyrm|bluesky|matrix|synapse|zulip"
        r"|rocket.?chat|mattermost|nextcloud|trello|imageproxy|prerender|thumbnail|yourls)",
    ),
    ("monitor", r"(?i)(monitor|uptime|health|synthetic|status|diagnos|ping\b|probe|prober)"),
    ("scanner", r"(?i)(scan|secur|audit|recon|vuln|phish|\bdcv\b|verif|check)"),
    ("seo", r"(?i)(\bseo|seo\b|backlink|rank|serp)"),
    ("feed reader", r"(?i)(feed|rss|subscribers?|podcast)"),
    ("archiver", r"(?i)(archiv)"),
    ("research", r"(?i)(research|survey|measurement|\.edu\b)"),
    ("advertising", r"(?i)(\bads|advert|adsense)"),
    ("search", r"(?i)(search|googlebot|bingbot)"),
)
"""Purposes of bots by the words in their user agents; the first that matches."""

MAX_NAME_LENGTH = 48
"""Characters of a name that are stored."""

_WORD = re.compile(r"\w")
_AI_ASSISTANT = re.compile(PURPOSES[0][1])
_purposes = PatternRules(PURPOSES)


def _list_rules() -> list[tuple[str, str]]:
    """The published list; a pattern that begins with a letter does so at the begin of a word."""
    rules = []
    for entry in CRAWLER_USER_AGENTS_DATA:
        pattern = LIST_CHANGES.get(entry["pattern"], entry["pattern"])
        if pattern:
            tag = AI_TAG if AI_TAG in entry["tags"] else entry["tags"][0]
            begin = r"\b" if _WORD.match(pattern) else ""
            rules.append((CATEGORIES.get(tag, CRAWLER), f"{begin}({pattern})"))
    return rules


_rules = PatternRules((HEADLESS_RULE, *_list_rules(), *OWN_RULES))
_COMPATIBLE = re.compile(r"compatible;\s*(?:visit )?(\w[\w.-]*)")
_BEFORE_URL = re.compile(
    r"\b(?!Safari|Chrome|Firefox|Gecko|Mobile)([A-Za-z][\w.-]*)(?:/[\w.]+)?[;,]?"
    r" *[(<]?\+? ?(?:https?:|mailto:|www\.)"
)
_PRODUCT = re.compile(r"\(?([A-Za-z][\w.-]*(?: [A-Z][\w.-]*)*)(?!\S*@)")
_HOST = re.compile(r"(?:https?://|@)(?:www\.)?([\w.-]+)")
_NO_NAME = re.compile(
    r"(?i)https?|mailto|www|(?:ro)?bots?|preview|crawl(?:er|ing)?|spider|check(?:er|s)?|scan(?:ner)?|parser"
    r"|monitor(?:ing)?|probe|research|synthetics?|msie|visit|\W*|.*[/:@${<?].*|.*\.[a-z]+"
)
_AROUND = " /()[];:,.+-_"


class Bot(Struct, frozen=True):
    """Purpose and name of a bot: `preview`, `Slackbot`."""

    category: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.category}: {self.name}" if self.name else self.category


def bot_of(text: str) -> Bot | None:
    """The bot that a user agent names; None for a browser."""
    if not text.strip():
        return Bot("empty user agent")
    shown = without_model(text)
    category, matched = _rules.first_match(shown) or (HUMAN, "")
    if category in (HUMAN, HEADLESS):
        return Bot(HEADLESS) if category else None
    return Bot(_purpose(category, matched, shown), _name(matched, shown))


def _purpose(category: str, matched: str, text: str) -> str:
    """The purpose by words of the user agent, where the rule names none or perhaps an AI."""
    if category == AI_CRAWLER:
        return AI_ASSISTANT if _AI_ASSISTANT.search(matched) else AI_CRAWLER
    if category not in UNSPECIFIC:
        return category
    by_words = (_purposes.first_match(text) or (category, ""))[0]
    return by_words if category == CRAWLER or by_words in (AI_CRAWLER, AI_ASSISTANT) else category


def _name(matched: str, text: str) -> str:
    """The matched text; where that is no name, what else the user agent has for one."""
    name = matched.strip(_AROUND)
    if _NO_NAME.fullmatch(name):
        found = (
            _COMPATIBLE.search(text)
            or (None if text.startswith("Mozilla/") else _PRODUCT.match(text))
            or _BEFORE_URL.search(text)
            or _HOST.search(text)
        )
        name = found[1].strip(_AROUND) if found else ""
    return name[:MAX_NAME_LENGTH]
