"""A program with one more kind of item, from the collector to custom queries.

The only thing that it adds is the declaration, before any service is imported; `test_kinds.py`
reads what it prints.
"""

import json
import sys
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Raw

import schemas.kinds
from schemas.items import EMPTY_RAW, Item
from schemas.kinds import Kind
from schemas.tables.column import (
    BOT_COLUMNS,
    DAY_COLUMN,
    EPOCH_COLUMN,
    TIME_ORDER,
    WEBSITE_ROW_COLUMNS,
    Column,
    ColumnType,
    Table,
)


class Rating(Item, kw_only=True):
    """One rating that a visitor gave."""

    stars: Annotated[int, Meta(ge=1, le=5)]
    answers: Raw = EMPTY_RAW


RATINGS = Table(
    name="ratings",
    columns=(
        *WEBSITE_ROW_COLUMNS,
        Column("stars", ColumnType.INTEGER, "1 to 5"),
        Column("answers", ColumnType.STRING, "answers as JSON"),
        *BOT_COLUMNS,
        EPOCH_COLUMN,
        DAY_COLUMN,
    ),
    sort_order=("website_id", *TIME_ORDER),
)

RATING = Kind(
    name="rating",
    description="ratings by visitors",
    path="/ratings",
    item=Rating,
    topic="ratings",
    table=RATINGS,
    tracker_type="rating",
    examples={"a rating": {"stars": 5}},
)

schemas.kinds.KINDS += (RATING,)
schemas.kinds.ALL_KINDS += (RATING,)
schemas.kinds.AGING_TABLES += (RATINGS,)
schemas.kinds.TABLES += (RATINGS,)


def main(folder: Path) -> None:
    from deploy.local.kafka.topics import required_topics
    from stream.enrich.rules.lookups import Lookups
    from stream.writing.batch_writer import BatchWriter
    from tests.ingest.in_memory_collector import in_memory_collector
    from tests.query.query_service import NOVEMBER, start_service
    from tests.stream.builders import CHROME, a_message, settings

    collector = in_memory_collector(folder / "collector")
    rating = {"stars": 4, "anonymous_id": "a1", "answers": {"why": ["fast"]}}
    browser = {"user-agent": CHROME}
    replies = [
        collector.post("/ratings?website_id=shop", [rating, {"stars": 6}], headers=browser),
        collector.post("/?website_id=shop", {"type": "rating", "stars": 2}, headers=browser),
        collector.get("/px.jpg?website_id=shop&type=rating&stars=3&answers={}"),
    ]
    collector_api = collector.get("/openapi.json").json
    service = start_service(folder)
    writer = BatchWriter(settings(folder), RATING, Lookups())
    writer.write(
        [a_message(n, *request.envelopes) for n, request in enumerate(collector.producer.sent)]
    )
    total = {"field": "stars", "aggregate": "sum", "alias": "stars"}
    result = service.custom("ratings", [total], groupBy=["anonymous_id"])
    tables = service.ask("GET", "/v1/query/tables", key=None).json["tables"]
    export = service.ask(
        "GET", "/v1/export/ratings", website_id="shop", columns="stars,answers", **NOVEMBER
    )
    document = service.ask("GET", "/openapi.json", key=None).json["components"]["schemas"]
    shown = {
        "statuses": [reply.status for reply in replies],
        "topics": [request.topic for request in collector.producer.sent],
        "rejected": replies[0].json["rejected"][0]["message"],
        "described": collector_api["paths"]["/ratings"]["post"]["summary"],
        "types": list(
            collector_api["paths"]["/"]["post"]["requestBody"]["content"]["application/json"][
                "schema"
            ]["discriminator"]["mapping"]
        ),
        "sum": result.json["data"],
        "listed": [table["meaning"] for table in tables if table["name"] == "ratings"],
        "exported": [json.loads(line) for line in export.body.splitlines()],
        "enum": "ratings" in document["CustomQueryBody"]["properties"]["table"]["enum"],
        "kafka": [topic.name for topic in required_topics(settings(folder))],
    }
    print(json.dumps(shown))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
