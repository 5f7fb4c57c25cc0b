"""OpenTelemetry: log records over OTLP/HTTP, as protobuf or JSON.

https://opentelemetry.io/docs/specs/otlp/#otlphttp
A record with an event name is an event; `browser.web_vital` is a measurement, and a record with
the attributes of an exception is an error. Records without a name are logs, which are dropped.
"""

from collections.abc import Mapping
from typing import Any

from ingest.protocols.protocol import (
    EXAMPLE_ALIAS,
    Example,
    Message,
    Messages,
    Outcome,
    Protocol,
    Reply,
    Route,
    TrackedItem,
    TrackerRequest,
    error_report,
    event,
    json_reply,
    member,
    number,
    page_view,
    read_each,
    read_json,
    require_few,
    text,
    web_vital,
)
from schemas.errors import Malformed, PayloadTooLarge
from schemas.tables.vitals import METRICS

PROTOBUF = "application/x-protobuf"
KEY_ATTRIBUTES = ("tidemark.website_id", "service.name")
"""Attributes of the resource that may name the website; the first that is there does."""
FIELDS = {
    "event_id": "eventId",
    "session.id": "sessionId",
    "user.id": "profileId",
    "url.full": "path",
    "url.path": "path",
    "browser.language": "language",
    "http.request.header.referer": "referrer",
}
"""Attributes with a field of ours."""
MAX_DEPTH = 16
MAX_VALUES = 60_000
"""Attributes and elements of arrays in a request of protobuf: 20 bytes each make a MiB."""
PROTOBUF_VALUES = {
    "string_value": "stringValue",
    "bool_value": "boolValue",
    "int_value": "intValue",
    "double_value": "doubleValue",
}


def read_logs(request: TrackerRequest) -> Messages:
    """`ExportLogsServiceRequest`."""
    is_protobuf = _media_type(request) == PROTOBUF
    body = _read_protobuf(request.body) if is_protobuf else read_json(request.body)
    resources = member(body, "resourceLogs")
    if not isinstance(resources, list):
        raise Malformed("'resourceLogs' must be an array")
    token = request.query.get("token") or request.query.get("website_id")
    require_few(len(resources))
    sent: list[tuple[Any, Mapping[str, Any], str | None]] = []
    scope_count = 0
    for resource in resources:
        attributes = _attributes(member(resource, "resource", "attributes"))
        named = (text(attributes.get(name), 255) for name in KEY_ATTRIBUTES)
        alias = None if token else next(filter(None, named), None)
        scopes = _list(resource, "scopeLogs")
        require_few(scope_count := scope_count + len(scopes))
        for scope in scopes:
            records = _list(scope, "logRecords")
            require_few(len(sent) + len(records))
            sent += [(record, attributes, alias) for record in records]
    messages = read_each(sent, lambda one: _message(*one))
    first = next((one.alias for one in messages if one.alias), None)
    return Messages(token or first, messages, is_protobuf)


def _list(value: object, name: str) -> list[Any]:
    """The array that an object has under a name; an empty one without it."""
    values = member(value, name)
    return values if isinstance(values, list) else []


def _media_type(request: TrackerRequest) -> str:
    return request.headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip()


def _read_protobuf(body: bytes) -> dict[str, Any]:
    """What is read of a request, as its JSON has it; `MessageToDict` takes five times as long."""
    # Imported here, as below: most collectors are sent no protobuf, and it takes memory.
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

    logs = ExportLogsServiceRequest()
    try:
        logs.ParseFromString(body)
    except DecodeError:
        raise Malformed("The body is no ExportLogsServiceRequest in protobuf") from None
    require_few(len(logs.resource_logs))
    require_few(sum(len(resource.scope_logs) for resource in logs.resource_logs))
    scopes = [scope for resource in logs.resource_logs for scope in resource.scope_logs]
    require_few(sum(len(scope.log_records) for scope in scopes))
    reader = ProtobufReader()
    return {
        "resourceLogs": [
            {
                "resource": {"attributes": reader.pairs(resource.resource.attributes)},
                "scopeLogs": [
                    {"logRecords": [reader.record(one) for one in scope.log_records]}
                    for scope in resource.scope_logs
                ],
            }
            for resource in logs.resource_logs
        ]
    }


class ProtobufReader:
    """Reads a request's messages of protobuf as its JSON has them; PayloadTooLarge."""

    def __init__(self) -> None:
        self.values = 0

    def record(self, record: Any) -> dict[str, Any]:
        """A log record."""
        return {
            "timeUnixNano": record.time_unix_nano,
            "observedTimeUnixNano": record.observed_time_unix_nano,
            "eventName": record.event_name,
            "attributes": self.pairs(record.attributes),
            "body": self.value(record.body),
        }

    def pairs(self, pairs: Any) -> list[dict[str, Any]]:
        """Key-value pairs."""
        self._count(len(pairs))
        return [{"key": pair.key, "value": self.value(pair.value)} for pair in pairs]

    def value(self, value: Any) -> dict[str, Any]:
        """An `AnyValue`."""
        name = value.WhichOneof("value")
        if name is None:
            return {}
        one = getattr(value, name)
        if name == "array_value":
            self._count(len(one.values))
            return {"arrayValue": {"values": [self.value(element) for element in one.values]}}
        if name == "kvlist_value":
            return {"kvlistValue": {"values": self.pairs(one.values)}}
        return {PROTOBUF_VALUES[name]: one} if name in PROTOBUF_VALUES else {}

    def _count(self, values: int) -> None:
        self.values += values
        if self.values > MAX_VALUES:
            raise PayloadTooLarge(
                f"A request may have at most {MAX_VALUES:,} attributes and values; send it in parts"
            )


def _attributes(pairs: object) -> dict[str, Any]:
    """Key-value pairs as an object."""
    if not isinstance(pairs, list):
        return {}
    return {
        str(member(pair, "key")): _value(member(pair, "value"))
        for pair in pairs
        if isinstance(member(pair, "key"), str)
    }


def _value(value: object, depth: int = 0) -> Any:
    """The value of an `AnyValue`; None for one of bytes or none."""
    if not isinstance(value, Mapping) or depth > MAX_DEPTH:
        return None
    for name, one in value.items():
        if name in ("stringValue", "boolValue"):
            return one
        if name in ("intValue", "doubleValue"):
            parsed = number(one)
            return int(parsed) if parsed is not None and name == "intValue" else parsed
        if name == "arrayValue":
            values = member(one, "values")
            return [_value(v, depth + 1) for v in values] if isinstance(values, list) else []
        if name == "kvlistValue":
            pairs = member(one, "values")
            return {
                str(member(pair, "key")): _value(member(pair, "value"), depth + 1)
                for pair in (pairs if isinstance(pairs, list) else ())
            }
    return None


def _message(record: Any, resource: Mapping[str, Any], alias: str | None) -> Message:
    if not isinstance(record, dict):
        return Message(invalid="A log record must be a JSON object", alias=alias)
    attributes = _attributes(member(record, "attributes"))
    name = text(member(record, "eventName") or attributes.pop("event.name", None), 256)
    body = _value(member(record, "body"))
    common: dict[str, Any] = {"timestamp": _milliseconds(record)}
    for theirs, ours in FIELDS.items():
        if common.get(ours) is None:
            common[ours] = text(attributes.pop(theirs, None), 128 if ours == "profileId" else 255)
    common["anonymousId"] = text(attributes.pop("visitor.id", None), 255) or common["profileId"]
    agent = text(attributes.pop("user_agent.original", None), 512) or ""
    address = text(attributes.pop("client.address", None), 64) or ""
    details = {**attributes, **body} if isinstance(body, dict) else attributes
    source, release = (text(resource.get(f"service.{n}"), 64) for n in ("name", "version"))
    item = _item(name, body, details, common, source, release)
    if item is None:
        return Message(dropped="log_record", alias=alias)
    return Message([item], alias=alias, user_agent=agent, address=address)


def _milliseconds(record: Any) -> int | None:
    nanoseconds = number(member(record, "timeUnixNano") or member(record, "observedTimeUnixNano"))
    return round(nanoseconds / 1_000_000) if nanoseconds else None


def _item(
    name: str | None,
    body: object,
    details: Mapping[str, Any],
    common: Mapping[str, Any],
    source: str | None,
    release: str | None,
) -> TrackedItem | None:
    visit = {n: common[n] for n in ("eventId", "anonymousId", "sessionId", "timestamp", "path")}
    if message := text(details.get("exception.message") or details.get("exception.type"), 2048):
        return error_report(
            message,
            **visit,
            errorType=text(details.get("exception.type"), 128),
            stack=text(details.get("exception.stacktrace"), 16_384),
            release=release,
            properties={n: v for n, v in details.items() if not n.startswith("exception.")} or None,
        )
    if name is None:
        return None
    metric = (text(details.get("name"), 16) or "").upper()
    if name == "browser.web_vital" and metric in METRICS and visit["path"]:
        return web_vital(metric, number(details.get("value")), **visit)
    if name in ("browser.page_view", "page_view"):
        return page_view(**common, source=source, title=text(details.get("title"), 512))
    properties = {**details, **({"body": body} if isinstance(body, str) else {})}
    return event(name, **common, source=source, properties=properties or None)


def reply(outcome: Outcome) -> Reply:
    """An empty response, or how many records were refused and the first reason, in the encoding
    of the request."""
    rejected = len(outcome.rejected)
    reason = outcome.rejected[min(outcome.rejected)] if rejected else ""
    if outcome.messages.reply_with:
        from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
            ExportLogsPartialSuccess,
            ExportLogsServiceResponse,
        )

        partial = ExportLogsPartialSuccess(rejected_log_records=rejected, error_message=reason)
        response = ExportLogsServiceResponse(partial_success=partial if rejected else None)
        return Reply(response.SerializeToString(), media_type=PROTOBUF)
    body = {"partialSuccess": {"rejectedLogRecords": str(rejected), "errorMessage": reason}}
    return json_reply(body if rejected else {})


OTLP = Protocol(
    product="otlp",
    title="OpenTelemetry logs",
    setting="OTEL_EXPORTER_OTLP_LOGS_ENDPOINT={url}/v1/logs?token={id}",
    routes=(
        Route(
            path="/v1/logs",
            example=Example(
                {
                    "resourceLogs": [
                        {
                            "scopeLogs": [
                                {
                                    "logRecords": [
                                        {
                                            "timeUnixNano": "1795000000000000000",
                                            "eventName": "order",
                                            "attributes": [
                                                {"key": "total", "value": {"doubleValue": 49.9}}
                                            ],
                                        }
                                    ]
                                }
                            ]
                        }
                    ]
                },
                f"token={EXAMPLE_ALIAS}",
                {"content-type": "application/json"},
            ),
            read=read_logs,
            reply=reply,
        ),
    ),
)
