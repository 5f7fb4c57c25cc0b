"""Sends with Snowplow's Python tracker: the collector's address and app id are the arguments."""

import logging
import sys
from typing import Any

from snowplow_tracker import (
    Emitter,
    PageView,
    ScreenView,
    SelfDescribing,
    SelfDescribingJson,
    StructuredEvent,
    Subject,
    Tracker,
)

logging.disable(logging.INFO)
host, app_id = sys.argv[1:]
failed: list[Any] = []


def note(_sent: int, unsent: list[Any]) -> None:
    """Keep what was not taken."""
    failed.extend(unsent)


subject = Subject().set_domain_user_id("d1").set_user_id("u1").set_domain_session_id("s1")
posts = Tracker("shop", Emitter(host, on_failure=note), subject=subject, app_id=app_id)
posts.track(PageView("https://shop.example/cart", "Cart", "https://other.example/x"))
posts.track(StructuredEvent("shop", "add", label="mug", property_="blue", value=9.5))
signup = SelfDescribingJson("iglu:com.acme/signup/jsonschema/1-0-0", {"plan": "pro"})
posts.track(SelfDescribing(signup))
posts.track(ScreenView("1", "Settings"))
posts.flush()
images = Emitter(host, method="get", on_failure=note)
images_tracker = Tracker("shop", images, app_id=app_id, encode_base64=False)
images_tracker.track(StructuredEvent("shop", "remove", value=1))
images_tracker.flush()
if failed:
    raise SystemExit(str(failed))
