"""Stored rows of every table with every column that a query type reads."""

from decimal import Decimal
from typing import Any

from tests.query.lake import (
    Stored,
    a_click,
    a_view,
    a_vital,
    an_engagement,
    an_error,
    an_event,
    an_outbound_click,
    imported,
)

BOT_REASONS = ("search: Googlebot", "ai crawler: GPTBot", "headless browser")
FULL = {
    "country": "DE",
    "region": "BE",
    "city": "Berlin",
    "browser_name": "Chrome",
    "browser_version": "140",
    "os_name": "macOS",
    "device_type": "desktop",
    "referrer": "https://x.com/a",
    "referrer_name": "X",
}


MORE: dict[str, Any] = {
    "channel": "Organic Social",
    "utm_source": "s",
    "utm_medium": "m",
    "utm_campaign": "c",
    "utm_term": "t",
    "utm_content": "d",
    "language": "de",
    "timezone": "Europe/Berlin",
    **FULL,
}


SEEN: dict[str, Any] = {
    "os_version": "15",
    "screen_resolution": "1920x1080",
    "viewport_size": "1200x800",
    "scroll_depth": Decimal(50),
    "interaction_count": 3,
    **dict.fromkeys(("load_time", "dom_ready_time", "ttfb", "render_time"), 100),
}


LATELY = "2026-11-30T00:52:20Z"


ROWS: list[Stored] = [
    *(
        a_view(f"/{n}", session=f"s{n}", visitor=f"u{n}", time_on_page=5, **MORE, **SEEN)
        for n in range(3)
    ),
    *(a_view(f"/next/{n}", session=f"s{n}", visitor=f"u{n}") for n in range(3)),
    *(
        a_view(f"/{n}", session=f"now{n}", visitor=f"u{n}", at=LATELY, received=LATELY, **MORE)
        for n in range(3)
    ),
    *(an_outbound_click(f"https://x{n}.example/") for n in range(3)),
    *(an_error(f"e{n}", path=f"/{n}", error_type=f"T{n}") for n in range(3)),
    *(a_view(f"/{n}", is_bot=True, bot_reason=reason) for n, reason in enumerate(BOT_REASONS)),
    *(a_click(is_bot=True, bot_reason=reason) for reason in BOT_REASONS),
    *(a_click(**FULL | {"country": c, "referrer_name": c}) for c in ("DE", "FR", "IT")),
    *(
        an_event(f"n{n}", path=f"/{n}", properties=f'{{"plan":"p{n}","seats":{n}}}')
        for n in range(3)
    ),
    *(
        an_engagement(
            f"/{n}", visitor=f"u{v}", rage_click_count=n, form_field_count=1, active_time=v
        )
        for n in range(3)
        for v in range(5)
    ),
    *(imported("2026-11-05", dimension, visitors=3) for dimension in ("", "path")),
    *(a_vital(metric, value, **FULL) for metric in ("LCP", "CLS") for value in (0.1, 1.5, 2.5)),
]
