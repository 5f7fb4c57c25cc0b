"""Browsers and systems that the published rules do not know or name differently."""

from collections.abc import Mapping

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
}
"""Our names for those of the published rules."""

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
"""Our names for those of the published rules; empty where the published rule only guesses."""

UNVERSIONED = frozenset({"HarmonyOS", "PlayStation", "Linux"})
"""Systems whose user agents have no version, or the version of something else."""
