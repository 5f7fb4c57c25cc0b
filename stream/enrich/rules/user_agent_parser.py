"""User agent parser: all patterns compiled into one engine, shared, because it takes 40 MB.

The engine matches a text with all patterns at once and returns the first rule that matches: 2 µs
for 1,500 patterns, where a loop over `re` takes 500. It has no look-around; the order of rules
replaces it. The published rules for devices are not used, because they give models; browsers and
systems that the published rules do not know, or name differently, have rules here.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache, cached_property

from ua_parser.loaders import load_lazy_builtins
from ua_parser.matchers import OSMatcher, UserAgentMatcher
from ua_parser.regex import Resolver
from ua_parser_rs import UserAgentExtractor

APP_BROWSERS = (
    ("WeChat", r"(MicroMessenger)/(\d+)\.(\d+)"),
    ("LinkedIn", r"(LinkedInApp)(?:/(\d+)\.(\d+))?"),
    ("Slack", r"\b(Slack)/(\d+)\.(\d+)"),
    ("Discord", r"\b(discord)/(\d+)\.(\d+)"),
    ("Telegram", r"(Telegram-Android)/(\d+)\.(\d+)"),
    ("KakaoTalk", r"(KAKAOTALK)[ /](\d+)\.(\d+)"),
    ("DuckDuckGo", r"\b(Ddg)/(\d+)\.(\d+)"),
    ("Tesla", r"\b(Tesla)/"),
    ("GNOME Web", r"(Epiphany)/"),
    ("Threads", r"\b(Barcelona) (\d+)\.(\d+)"),
    ("Reddit", r"\b(Reddit)/(?:Version )?(\d+)\.(\d+)"),
    ("Naver", r"\b(NAVER)\(inapp; \w+; \d+; (\d+)\.(\d+)"),
    ("Bing", r"\b(BingSapphire|BingWeb)/(\d+)\.(\d+)"),
    ("Yahoo! JAPAN", r"\b(YJApp)-\w+ [\w.]+/(\d+)\.(\d+)"),
    ("Quark", r"\b(Quark)/(\d+)\.(\d+)"),
    ("Alipay", r"\b(AlipayClient)/(\d+)\.(\d+)"),
    ("Taobao", r"\bAliApp\((TB)/(\d+)\.(\d+)"),
    ("Xiaohongshu", r"(?i)\b(xiaohongshu|xhsdiscover|xhsminiweb|xhs)\b(?:/(\d+)\.(\d+))?"),
    ("Firefox Focus", r"\b(Focus|Klar)/(\d+)\.(\d+)"),
    ("ChatGPT", r"\b(ChatGPT)/(\d+)\.(\d+)"),
    ("Yandex Browser", r"\b(YaBrowser|YaSearchBrowser|YandexSearch)/(\d+)\.(\d+)"),
    ("Sogou Browser", r"\b(SogouMobileBrowser)/(\d+)\.(\d+)"),
    ("Meizu Browser", r"\b(MZBrowser)/(\d+)\.(\d+)"),
    ("OPPO Browser", r"\b(OppoBrowser)/(\d+)\.(\d+)"),
    ("Lenovo Browser", r"\b(MobileLenovoBrowser)/(\d+)\.(\d+)"),
    ("Sleipnir", r"\b(Sleipnir)/(\d+)\.(\d+)"),
    ("LieBao", r"\b(LieBaoFast|ACHEETAHI)/(\d+)"),
    ("Hawk Browser", r"\b(Hawk/QuickBrowser)/(\d+)\.(\d+)"),
    ("360 Browser", r"\b(360 Aphone Browser)[ (]*(\d+)\.(\d+)"),
    ("Baidu Browser", r"\b(bdbrowser_i18n)/(\d+)\.(\d+)"),
    ("Qwant", r"\b(QwantMobile)/(\d+)\.(\d+)"),
    ("PICO Browser", r"\b(PicoBrowser)/(\d+)\.(\d+)"),
    ("Whale TV Browser", r"\b(WHALEOS)"),
    ("TV Bro", r"\b(TV Bro)/(\d+)\.(\d+)"),
    ("Quick Search TV", r"\b(Quick Search TV)/(\d+)\.(\d+)"),
    ("T-Browser", r"\b(T-?[Bb]rowser)/(\d+)\.(\d+)"),
    ("LG Browser", r"\b(LG Browser)/(\d+)\.(\d+)"),
    ("Roku Browser", r"\b(RokuBrowser)/(\d+)\.(\d+)"),
    ("Nintendo Browser", r"\b(NintendoBrowser)/(\d+)\.(\d+)"),
    ("Seraphic Sraf", r"\b(SRAF)/(\d+)\.(\d+)"),
    ("Odin", r"\b(Odin)/(\d+)\.(\d+)"),
    ("Opera", r"\b(OPR)/(\d+)\.(\d+).*\bOMI/"),
    ("Chrome", r"Web0S.*\b(Chrome)/(\d+)\.(\d+).*HbbTV"),
)
"""Browsers by a pattern with groups for name, major and minor; before the published rules."""

BROWSER_NAMES: Mapping[str, str] = {
    "Chrome Mobile": "Chrome",
    "Chrome Mobile iOS": "Chrome",
    "HeadlessChrome": "Headless Chrome",
    "Mobile Safari": "Safari",
    "Firefox Mobile": "Firefox",
    "Firefox iOS": "Firefox",
    "Edge Mobile": "Edge",
    "Opera Mobile": "Opera",
    "IE Mobile": "IE",
    "Chrome Mobile WebView": "Android WebView",
    "Mobile Safari UI/WKWebView": "iOS WebView",
    "DuckDuckGo Mobile": "DuckDuckGo",
    "WeChat Browser": "WeChat",
    "MiuiBrowser": "Mi Browser",
    "Google": "Google App",
    "Opera Touch": "Opera",
    "Opera Tablet": "Opera",
    "Opera Next": "Opera",
    "Opera GX": "Opera",
    "Vewd Browser": "Opera",
    "Ecosia Android": "Ecosia",
    "Ecosia iOS": "Ecosia",
    "QQ Browser Mobile": "QQ Browser",
    "IE Large Screen": "IE",
    "Aloha": "Aloha Browser",
    "HiBrowser": "Hi Browser",
    "VivoBrowser": "vivo Browser",
    "HeyTap Browser": "OPPO Browser",
    "Baidu Explorer": "Baidu Browser",
    "BlackBerry WebKit": "BlackBerry",
    "Seznam prohlížeč": "Seznam Browser",
    "Firefox (Minefield)": "Firefox",
    "Firefox (Shiretoko)": "Firefox",
    "GranParadiso": "Firefox",
    "Brave Mobile": "Brave",
    "Puffin Browser": "Puffin",
}
"""Our browser names by the published rules' names."""

OS_PATTERNS = (
    ("HarmonyOS", r"(OpenHarmony|HarmonyOS)"),
    ("PlayStation", r"(PlayStation)"),
    ("Darwin", r"\b(CFNetwork)/.*\bDarwin/"),
)
"""Systems by a pattern; before the published rules."""

OS_NAMES: Mapping[str, str] = {
    "Darwin": "",  # the same on macOS, iOS, tvOS and watchOS
    "Mac OS X": "macOS",
    "Mac OS": "macOS",
    "Chrome OS": "ChromeOS",
    "ATV OS X": "tvOS",
    "WatchOS": "watchOS",
    "Web0S": "webOS",
    "Chromecast Android": "Android",
    **dict.fromkeys(
        ("Ubuntu", "Kubuntu", "Debian", "Fedora", "Linux Mint", "CentOS", "Red Hat", "SUSE",
         "openSUSE", "Gentoo", "Arch Linux", "Slackware", "Mageia", "PCLinuxOS", "Puppy"), "Linux",
    ),
}  # fmt: skip
"""Our system names by the published rules' names; empty where the published rule guesses."""

UNVERSIONED = frozenset({"HarmonyOS", "PlayStation", "Linux"})
"""Systems whose user agents have no version, or the version of something else."""


PatternRule = tuple[str, str]
"""Category of the user agents that match, and the pattern."""


_MODEL = re.compile(
    r"(?i)(Android [\d.]+;)(?: [a-z]{2}(?:[-_][a-z]{0,2})?;)?(?! (?:compatible|Mobile|Tablet|wv)\b)"
    r" [^;()/]+(?: Build/[^;)]*)?(?=[;)])"
)
"""The model and build of a phone: what an Android browser says before `)`."""


def without_model(text: str) -> str:
    """A user agent without the phone's model, which may be any word."""
    return _MODEL.sub(r"\1", text, count=1) if "ndroid" in text else text


@cache
def user_agent_parser() -> Resolver:
    """The parser of this process, compiled by the first call."""
    browsers, systems, _ = load_lazy_builtins()
    return Resolver(
        (
            [*(UserAgentMatcher(pattern, name) for name, pattern in APP_BROWSERS), *browsers],
            [*(OSMatcher(pattern, name) for name, pattern in OS_PATTERNS), *systems],
            [],
        )
    )


class PatternRules:
    """An ordered list of rules: the first that matches gives the category and the matched text.

    Each pattern has one group, around the text that identifies the user agent.
    """

    def __init__(self, rules: Iterable[PatternRule]) -> None:
        self._rules = tuple(rules)

    @cached_property
    def _engine(self) -> UserAgentExtractor:
        """Compiled by the first match."""
        # The engine is made for browsers: the matched text is the name, the category the version.
        return UserAgentExtractor(
            (pattern, None, category, "0", "0", "0") for category, pattern in self._rules
        )

    def first_match(self, text: str) -> PatternRule | None:
        """Category and matched text of the first rule that matches; None without a match."""
        match = self._engine.extract(text)
        return None if match is None else (match.major or "", match.family)
