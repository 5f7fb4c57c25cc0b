"""Items are counted by topic and outcome."""

from prometheus_client import CollectorRegistry, generate_latest

from schemas.telemetry.item_counts import ItemCounts


def test_items_are_counters_of_topic_and_outcome() -> None:
    registry = CollectorRegistry()
    counts = ItemCounts(registry)
    assert "tidemark_items_total{" not in generate_latest(registry).decode()

    for items in (1, 100):
        counts.add("events", "acknowledged", items)
    counts.add("events", "failed", 2)
    counts.add("errors", "acknowledged", 3)

    lines = generate_latest(registry).decode().splitlines()
    assert "# TYPE tidemark_items_total counter" in lines
    assert [line for line in lines if line.startswith("tidemark_items_total{")] == [
        'tidemark_items_total{outcome="acknowledged",topic="events"} 101.0',
        'tidemark_items_total{outcome="failed",topic="events"} 2.0',
        'tidemark_items_total{outcome="acknowledged",topic="errors"} 3.0',
    ]
