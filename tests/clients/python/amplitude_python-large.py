"""Sends more than a request may have with Amplitude's Python client."""

import sys
import time

from amplitude import Amplitude, BaseEvent, Config

host, api_key = sys.argv[1:]
codes: list[int] = []


def note(_event: BaseEvent, code: int, _message: str | None) -> None:
    """Count what is done with."""
    codes.append(code)


client = Amplitude(api_key, Config(server_url=f"{host}/2/httpapi", callback=note))
notes = {f"note{number}": "x" * 1000 for number in range(30)}  # it cuts a text to 1024 characters
for number in range(50):
    client.track(BaseEvent(f"Large {number}", device_id="d1", event_properties=notes))
deadline = time.monotonic() + 60
while len(codes) < 50 and time.monotonic() < deadline:
    client.flush()
    time.sleep(0.5)
client.shutdown()
