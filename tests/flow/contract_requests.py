"""Requests that the tests of the contract share."""

from tests.flow.tenant import at_ms

EVENT = {
    "name": "purchase",
    "properties": {"plan": "pro", "amount": 49.9},
    "anonymousId": "anon-1",
    "sessionId": "sess-1",
    "timestamp": at_ms("10:00:00"),
    "namespace": "shop",
}


COUNT = {"field": "*", "aggregate": "count", "alias": "n"}
