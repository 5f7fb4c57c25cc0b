"""Sends with Mixpanel's Python client: the collector's address and the token are the arguments."""

import sys

from mixpanel import BufferedConsumer, Consumer, Mixpanel

host, token = sys.argv[1:]
urls = {"events_url": f"{host}/track", "people_url": f"{host}/engage"}
mixpanel = Mixpanel(token, consumer=Consumer(**urls))
mixpanel.track("u1", "Order Completed", {"total": 49.9, "note": "Größe"})
mixpanel.people_set("u1", {"plan": "pro"})
mixpanel.people_increment("u1", {"visits": 1})
buffered = BufferedConsumer(**urls)
mixpanel = Mixpanel(token, consumer=buffered)
page = {"$current_url": "https://shop.example/", "current_page_title": "Home"}
mixpanel.track("$device:d1", "$mp_web_page_view", page)
mixpanel.track("$device:d1", "Signed Up", {"plan": "pro"})
buffered.flush()
