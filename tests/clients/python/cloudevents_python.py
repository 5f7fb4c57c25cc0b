"""Sends CloudEvents in the three modes: the collector's address and the id are the arguments."""

import sys
from urllib.request import Request, urlopen

from cloudevents.core.bindings.http import HTTPMessage, to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent

host, website_id = sys.argv[1:]


def post(message: HTTPMessage) -> None:
    """Send one request; HTTPError if it is refused."""
    url = f"{host}/cloudevents?website_id={website_id}"
    with urlopen(Request(url, message.body, message.headers)) as reply:
        assert reply.status == 204


def order(event_id: str, total: float) -> CloudEvent:
    """An order of Zoë's."""
    attributes = {"type": "com.example.order", "source": "/shop", "id": event_id, "subject": "Zoë"}
    return CloudEvent(attributes, {"total": total})


first = to_binary_event(order("1", 49.9))
post(first)
post(first)
post(to_structured_event(order("2", 5)))
batch = [to_structured_event(order(event_id, 7)).body for event_id in ("3", "4")]
batch_type = {"content-type": "application/cloudevents-batch+json"}
post(HTTPMessage(batch_type, b"[" + b",".join(batch) + b"]"))
