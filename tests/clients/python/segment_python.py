"""Sends with Segment's Python client: its address and the write key are the arguments."""

import sys

from segment.analytics.client import Client

host, write_key = sys.argv[1:]
client = Client(write_key, host=host, gzip=True)
client.track("u1", "Order Completed", {"total": 49.9}, context={"ip": "203.0.113.7"})
client.page("u1", name="Home", properties={"url": "https://shop.example/"})
client.identify("u1", {"plan": "pro"}, anonymous_id="a1")
client.alias("a0", "u1")
client.group("u1", "g1")
client.flush()
client.shutdown()
