"""The number of messages of a request: more are refused before they are read."""

import json
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from ingest.protocols.otlp import MAX_VALUES
from ingest.protocols.protocol import MAX_LISTED, MAX_MESSAGES
from tests.ingest.in_memory_collector import InMemoryCollector

BATCH = {"content-type": "application/cloudevents-batch+json"}
PROTOBUF = {"content-type": "application/x-protobuf"}
MANY: list[Any] = [{}] * (MAX_MESSAGES + 1)
RESOURCES = {
    "resources": MANY,
    "scopes": [{"scopeLogs": MANY}],
    "records": [{"scopeLogs": [{"logRecords": MANY}]}],
}


def records_of_protobuf(records: int, attributes: int) -> bytes:
    logs = ExportLogsServiceRequest()
    scope = logs.resource_logs.add().scope_logs.add()
    for _ in range(records):
        record = scope.log_records.add()
        for _ in range(attributes):
            record.attributes.add()
    return bytes(logs.SerializeToString())


@pytest.mark.parametrize(
    ("path", "body", "headers", "status"),
    [
        ("/v1/batch", {"writeKey": "x", "batch": MANY}, {}, 413),
        ("/v1/import", {"writeKey": "x", "batch": MANY}, {}, 413),
        ("/rudderstack/v1/batch", {"writeKey": "x", "batch": MANY}, {}, 413),
        ("/e/", MANY, {}, 413),
        ("/batch/", {"api_key": "x", "batch": MANY}, {}, 413),
        ("/i/v1/analytics/events", {"batch": MANY}, {"authorization": "Bearer x"}, 413),
        ("/mixpanel/track", MANY, {}, 413),
        ("/engage", MANY, {}, 413),
        ("/mixpanel/import", MANY, {}, 413),
        ("/mixpanel/import", b"{}\n" * (MAX_MESSAGES + 1), {}, 413),
        ("/2/httpapi", {"api_key": "x", "events": MANY}, {}, 413),
        ("/com.snowplowanalytics.snowplow/tp2", {"data": MANY}, {}, 400),
        ("/matomo.php", {"requests": [""] * (MAX_MESSAGES + 1)}, {}, 413),
        ("/api/batch", MANY, {}, 413),
        ("/cloudevents?website_id=x", MANY, BATCH, 413),
        ("/g/collect?tid=x", b"en=a\n" * 501, {}, 204),
        *(("/v1/logs?token=x", {"resourceLogs": one}, {}, 413) for one in RESOURCES.values()),
        ("/v1/logs?token=x", records_of_protobuf(MAX_MESSAGES + 1, 0), PROTOBUF, 413),
        ("/v1/logs?token=x", records_of_protobuf(1, MAX_VALUES + 1), PROTOBUF, 413),
    ],
)
def test_too_many_messages_are_refused(
    collector: InMemoryCollector, path: str, body: object, headers: dict[str, str], status: int
) -> None:
    reply = collector.post(path, body, headers=headers)

    assert reply.status == status
    assert len(reply.body) < 300
    assert collector.producer.sent == []


def test_as_many_as_allowed_are_stored(collector: InMemoryCollector) -> None:
    collector.add_alias("umami", "x")
    collector.set_limits("acme", collect=1_000_000)
    event = {"type": "event", "payload": {"website": "x", "name": "a"}}

    reply = collector.post("/api/batch", [event] * MAX_MESSAGES)

    assert json.loads(reply.body)["processed"] == MAX_MESSAGES


def test_a_reply_lists_the_first_refused_messages(collector: InMemoryCollector) -> None:
    collector.add_alias("umami", "x")
    good = {"type": "event", "payload": {"website": "x", "name": "a"}}

    reply = json.loads(collector.post("/api/batch", [good, *[7] * 300]).body)
    refused = json.loads(collector.post("/v1/batch", {"writeKey": "shop", "batch": [7] * 300}).body)

    assert (reply["errors"], len(reply["details"])) == (300, MAX_LISTED)
    assert [one["index"] for one in refused["rejected"]] == list(range(MAX_LISTED))


def test_records_of_logs_that_are_no_objects_are_refused(collector: InMemoryCollector) -> None:
    collector.add_alias("otlp", "x")
    records: list[Any] = [None, 5, "x", {"eventName": "a"}]

    body = {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}
    reply = collector.post("/v1/logs?token=x", body)

    assert json.loads(reply.body) == {
        "partialSuccess": {
            "rejectedLogRecords": "3",
            "errorMessage": "A log record must be a JSON object",
        }
    }


def test_a_number_that_json_has_not_is_null(collector: InMemoryCollector) -> None:
    body = (
        b'{"writeKey":"shop","batch":[{"type":"track","event":"a","anonymousId":"u",'
        b'"properties":{"n":NaN,"i":-Infinity,"total":5}},'
        b'{"type":"track","event":"b","anonymousId":"u"}]}'
    )

    assert collector.post("/v1/batch", body).status == 200
    assert collector.producer.sent[0].items == [
        {"name": "a", "anonymousId": "u", "properties": {"n": None, "i": None, "total": 5}},
        {"name": "b", "anonymousId": "u"},
    ]
