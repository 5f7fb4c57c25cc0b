"""Sends with Amplitude's Python client: the collector's address and the key are the arguments."""

import sys

from amplitude import Amplitude, BaseEvent, Config, EventOptions, Identify, Revenue

host, api_key = sys.argv[1:]
refused: list[tuple[str, int, str | None]] = []


def note(event: BaseEvent, code: int, message: str | None) -> None:
    """Keep what was not taken."""
    if code != 200:
        refused.append((event.event_type, code, message))


client = Amplitude(api_key, Config(server_url=f"{host}/2/httpapi", callback=note))
anna = EventOptions(user_id="user-1", device_id="device-1", session_id=1_795_000_000_000)
page = {"[Amplitude] Page URL": "https://shop.example/cart", "[Amplitude] Page Title": "Cart"}
client.track(BaseEvent("[Amplitude] Page Viewed", device_id="device-1", event_properties=page))
client.track(BaseEvent("Signed Up", user_id="user-1", event_properties={"plan": "pro"}))
client.revenue(Revenue(price=9.5, quantity=2, product_id="mug"), anna)
client.identify(Identify().set("plan", "pro"), anna)
client.group_identify("company", "acme", Identify().set("seats", 3), anna)
for sent in client.flush():
    sent.result()
client.shutdown()
if refused:
    raise SystemExit(str(refused))
