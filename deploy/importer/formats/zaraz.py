"""Cloudflare Zaraz: events with its context (`client` and `system`)."""

from deploy.importer.formats.cell_values import InvalidLine, parse_text
from deploy.importer.formats.export_format import Columns, ExportFormat, as_object, refuse_own_event

OWN_EVENTS = frozenset(("__zarazClientConsent", "__zarazEmpty", "__zarazMCListeners"))


def zaraz_columns(line: Columns) -> Columns:
    """The name is `__zarazTrack` of the client; properties beginning with `__zaraz` are its own."""
    client, system = as_object(line["client"]), as_object(line["system"])
    name = parse_text(client.get("__zarazTrack"))
    refuse_own_event("Zaraz", name, OWN_EVENTS)
    if name is None:
        raise InvalidLine("this is no event: '__zarazTrack' of 'client' is missing")
    page, device = as_object(system.get("page")), as_object(system.get("device"))
    place = as_object(device.get("location"))
    url = page.get("url")
    return {
        "timestamp": as_object(system.get("misc")).get("timestamp") or line.get("timestamp"),
        "event_name": "pageview" if name == "Pageview" else name,
        "url": url.get("href") if isinstance(url, dict) else url,
        "title": page.get("title"),
        "referrer": page.get("referrer"),
        "language": device.get("language"),
        "screen_resolution": device.get("resolution"),
        "viewport_size": device.get("viewport"),
        "country": place.get("country"),
        "region": place.get("region"),
        "city": place.get("city"),
        "properties": {
            key: value for key, value in client.items() if not key.startswith("__zaraz")
        },
    }


FORMATS = (
    ExportFormat("Cloudflare Zaraz", frozenset(("client", "system")), zaraz_columns),
    ExportFormat(
        "Cloudflare Zaraz (Logpush)",
        frozenset(("EventType", "EventDetails", "TimestampStart")),
        refusal="its lines are steps of Zaraz (requests, actions of tools, answers), several for "
        "one event; import the events that you send (`client` and `system`) instead",
    ),
)
