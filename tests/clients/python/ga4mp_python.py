"""Sends with ga4mp: the collector's address and the measurement id are the arguments."""

import logging
import sys

from ga4mp import GtagMP

logging.disable(logging.WARNING)  # it warns of parameters that an event does not have
host, measurement_id = sys.argv[1:]
client = GtagMP("secret", measurement_id, client_id="1234567890.1234567890")
client._base_domain = f"{host}/mp/collect"  # the client has no setting for it
client.store.set_user_property(name="plan", value="pro")
view = client.create_new_event("page_view")
view.set_event_param("page_location", "https://shop.example/cart")
order = client.create_new_event("purchase")
order.set_event_param("page_location", "https://shop.example/done")
order.set_event_param("transaction_id", "o1")
order.set_event_param("value", 49.9)
order.set_event_param("currency", "EUR")
order.set_event_param("items", [{"item_id": "mug", "quantity": 2}])
client.send([view, order])
