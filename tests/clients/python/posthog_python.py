"""Sends with PostHog's Python client: its address and the token are the arguments."""

import sys

from posthog import Posthog

host, token = sys.argv[1:]
posthog = Posthog(token, host=host, gzip=True, max_retries=0)
cart = {"total": 49.9, "$current_url": "https://shop.example/cart"}
posthog.capture("Order Completed", distinct_id="u1", properties=cart)
posthog.set(distinct_id="u1", properties={"plan": "pro"})
posthog.alias(previous_id="u1", distinct_id="a0")
posthog.group_identify("company", "acme")
try:
    raise ValueError("no such coupon")
except ValueError as error:
    posthog.capture_exception(error, distinct_id="u1")
posthog.shutdown()
