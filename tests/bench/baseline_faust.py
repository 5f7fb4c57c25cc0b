"""Baseline of the worker: stock Faust that consumes one message per event and discards it.

`python -m tests.bench.baseline_faust BROKER TOPIC` consumes until it is killed.
"""

import json
import sys
from typing import Any

import faust


def create_app(broker: str, topic: str) -> faust.App:
    """An app as Faust's own guide writes it, with what a real Kafka 4 needs."""
    app = faust.App(
        "stock",
        broker=f"kafka://{broker}",
        value_serializer="raw",
        store="memory://",
        web_enabled=False,
        topic_allow_declare=False,
        topic_disable_leader=True,
        consumer_auto_offset_reset="earliest",
    )

    @app.agent(app.topic(topic, value_serializer="raw"))
    async def read(arrivals: faust.StreamT[Any]) -> None:
        async for body in arrivals:
            json.loads(body)

    return app


if __name__ == "__main__":
    worker = faust.Worker(create_app(sys.argv[1], sys.argv[2]), loglevel="ERROR")
    worker.execute_from_commandline()
