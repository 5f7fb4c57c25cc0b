"""Values that random traffic is drawn from: few, so that rows meet, and hostile ones among them."""

import json
from collections.abc import Mapping
from typing import Any

StoredRow = Mapping[str, Any]

PATHS = ("/", "/a", "/a/b", "/A", "/ü ñ", "/日本/🙂", "/100%", "/a_b", "/it's", '/"', "", None)
HOSTS = ("shop.example", "shop.example", "shop.example", "www.shop.example", "", None)
VISITORS = ("u1", "u2", "u3", "U1", "é", None)
SESSIONS = ("s1", "s2", "s3", "s4", "s5", None)
NAMES = ("signup", "Signup", "purchase", "köp", "screen view")
DOMAINS = ("x.example", "y.example", "ü.example")
PLAIN_MESSAGES = ("boom", "Boom", "x is not a function", "'; DROP", "")
MESSAGES = (
    *PLAIN_MESSAGES,
    *("no order 1,234", "no order 7", "no order 00c04fd430c8 of é@x.example", "h1?"),
)
SOURCES: tuple[StoredRow, ...] = (
    {
        "referrer": "Direct",
        "referrer_name": "Direct",
        "referrer_type": "direct",
        "channel": "Direct",
    },
    {
        "referrer": "https://google.com/",
        "referrer_name": "Google",
        "referrer_type": "search",
        "channel": "Organic Search",
    },
    {
        "referrer": "https://www.google.de/",
        "referrer_name": "Google",
        "referrer_type": "search",
        "channel": "Organic Search",
    },
    {
        "referrer": "https://blog.example/ü",
        "referrer_name": None,
        "referrer_type": "other",
        "channel": "Referral",
    },
    {"referrer": None, "referrer_name": None, "referrer_type": None, "channel": None},
)
CAMPAIGNS: tuple[StoredRow, ...] = (
    {},
    {},
    {"utm_source": "news", "utm_medium": "email", "utm_campaign": "märz"},
    {"utm_source": "News", "utm_term": "shoes", "utm_content": "a", "click_id": "gclid"},
)
AGENTS: tuple[StoredRow, ...] = (
    {
        "browser_name": "Chrome",
        "browser_version": "140",
        "os_name": "Windows",
        "device_type": "desktop",
        "screen_resolution": "1920x1080",
        "viewport_size": "1900x900",
    },
    {
        "browser_name": "Chrome",
        "browser_version": "141",
        "os_name": "Android",
        "os_version": "16",
        "device_type": "mobile",
        "screen_resolution": "400x900",
        "viewport_size": "400x800",
    },
    {
        "browser_name": "Safari",
        "browser_version": None,
        "os_name": "iOS",
        "os_version": "19",
        "device_type": "mobile",
    },
    {"browser_name": None, "os_name": None, "device_type": None},
)
PLACES: tuple[StoredRow, ...] = (
    {"country": "DE", "region": "Berlin", "city": "Berlin", "timezone": "Europe/Berlin"},
    {"country": "DE", "region": "Bayern", "city": "München", "language": "de"},
    {"country": "US", "region": None, "city": "Berlin", "language": "en-US"},
    {"country": None, "region": "Berlin", "city": "Nowhere", "language": "de"},
)
PROPERTIES = (
    None,
    "{}",
    *(
        json.dumps(property_values, ensure_ascii=False)
        for property_values in (
            {"plan": "pro", "seats": 3, "price": 9.5, "trial": True},
            {"plan": "Pro", "seats": 10, "nothing": None},
            {"plan": "größer", "deep": {"a": [1, 2], "b": "x"}, "at": "2026-11-10"},
            {"url": "https://x.example/a?b=c", "empty": "", "plan": "12"},
        )
    ),
)
BOT_REASONS = (
    *("search: Googlebot", "ai crawler: GPTBot", "ai assistant: Claude-User", "preview: a: b"),
    *("headless browser", None),
)
"""Bot reasons of bots, and of other rows where nothing counts them."""
VITAL_NAMES = ("FCP", "LCP", "CLS", "INP", "TTFB", "FPS")
