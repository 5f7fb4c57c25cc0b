"""Names of browsers and systems in exports of other products, in the names that the stream uses."""

import re
from collections.abc import Mapping
from typing import Any

from deploy.importer.formats.cell_values import parse_text

BROWSER_NAMES: Mapping[str, tuple[str, ...]] = {
    "Chrome": (
        *("chrome", "crios", "chrome ios", "chrome mobile", "chrome mobile ios"),
        *("google chrome", "mobile chrome"),
    ),
    "Safari": ("safari", "ios", "mobile safari"),
    "Firefox": ("firefox", "fxios", "firefox ios", "firefox mobile", "mobile firefox"),
    "Edge": ("edge", "edge-chromium", "edge-ios", "edge ios", "edge mobile", "microsoft edge"),
    "Opera": ("opera", "opera mobile", "mobile opera"),
    "Opera Mini": ("opera-mini", "opera mini"),
    "IE": ("ie", "internet explorer", "ie mobile", "internet explorer mobile"),
    "Samsung Internet": ("samsung", "samsung internet", "samsung browser"),
    "Android WebView": ("chromium-webview", "chrome webview", "android webview"),
    "iOS WebView": ("ios-webview", "safari (in-app)", "mobile safari ui/wkwebview"),
    "Yandex Browser": ("yandexbrowser", "yandex browser", "yandex"),
    "Mi Browser": ("miui", "miui browser", "miuibrowser"),
    "Amazon Silk": ("silk", "amazon silk"),
    "DuckDuckGo": ("duckduckgo", "duckduckgo mobile", "duckduckgo privacy browser"),
}
"""Our name → names of other products in lower case, among them Umami's codes (`crios`)."""

OS_NAMES: Mapping[str, tuple[str, ...]] = {
    "macOS": ("mac", "mac os", "mac os x", "macos", "macintosh", "os x"),
    "iOS": ("ios", "ipados", "iphone os"),
    "Android": ("android", "android os"),
    "Linux": ("linux", "gnu/linux", "ubuntu", "debian", "fedora"),
    "ChromeOS": ("chrome os", "chromeos", "chromium os"),
}
"""Our name → names of other products in lower case."""

WINDOWS = re.compile(r"windows\b(?! (?:phone|mobile))", re.IGNORECASE)
"""Products with the version in the name: `Windows 10`, `Windows XP`, `Windows Server 2003`."""
VERSION = re.compile(r"\d[\d._]*$")

_BROWSERS = {other: name for name, others in BROWSER_NAMES.items() for other in others}
_SYSTEMS = {other: name for name, others in OS_NAMES.items() for other in others}


def parse_browser(cell: Any) -> str | None:
    """The browser by our name; an unknown one as it is."""
    text = parse_text(cell)
    return None if text is None else _BROWSERS.get(text.lower(), text)


def parse_os(cell: Any) -> str | None:
    """The system by our name; an unknown one as it is."""
    text = parse_text(cell)
    if text is None:
        return None
    return "Windows" if WINDOWS.match(text) else _SYSTEMS.get(text.lower(), text)


def parse_os_version(cell: Any) -> str | None:
    """The version without the name of the system before it: `Windows 10`, `iOS 17.1`."""
    text = parse_text(cell)
    match = VERSION.search(text) if text else None
    return match[0] if match else text


NAME_AND_VERSION = re.compile(r"(.*?)\s+(\d[\d._]*)")


def name_and_version(cell: Any) -> tuple[str | None, str | None]:
    """`Chrome 120` in its two parts."""
    text = parse_text(cell)
    match = NAME_AND_VERSION.fullmatch(text) if text else None
    return (match[1], match[2]) if match else (text, None)
