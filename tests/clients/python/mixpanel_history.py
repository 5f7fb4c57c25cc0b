"""Imports with Mixpanel's Python client: the collector's address and the API key are arguments."""

import sys

from mixpanel import Consumer, Mixpanel, ServiceAccountCredentials

host, key = sys.argv[1:]
account = ServiceAccountCredentials("account", key, "1")
mixpanel = Mixpanel(
    "old-token", consumer=Consumer(import_url=f"{host}/import", credentials=account)
)
for number in (1, 2):
    properties = {"total": number, "$insert_id": f"i{number}"}
    mixpanel.import_data(None, "u1", "Order", 1_551_441_600 + number, properties)
