"""The Trino statements of all query types, of custom and metrics queries; of some the stored text.

`python -m tests.query.engine.trino.statements` writes the file, which `make docs` does. Where it
changes, Trino computes something else: `make conformance` says whether it gives the same rows.
"""

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from query.custom.tables import CUSTOM_TABLES
from query.metrics.ledger import LEDGER_METRICS
from query.metrics.metrics import METRICS
from query.request.operators import OPERATORS, Arity
from query.request.subject import SubjectKind
from query.sql.aggregates import AGGREGATES
from query.standard.query_types import QUERY_TYPES
from schemas.kinds import ALL_KINDS
from schemas.registry import PathGroup
from tests.query.engine.trino.coordinator import Coordinator, coordinator
from tests.query.lake import (
    a_click,
    a_quarantined_item,
    a_view,
    a_vital,
    an_engagement,
    an_error,
    an_event,
    an_identity,
    ledger_counts,
)
from tests.query.query_service import NOVEMBER, InProcessService, start_service

STORED = Path(__file__).parent / "statements.sql"
STORED_NAMES = (
    *("link_clicks_by_day", "outbound_domains", "top_pages", "custom_events_recent"),
    *("top_path_groups", "top_folders"),
    *("session_duration_distribution", "aggregates", "operators", "properties", "weekly"),
    *("day_of_week", "median_visit_duration"),
)
"""Those whose text is stored: together they have every function that Trino has its own form of."""
Texts = Mapping[str, Sequence[str]]
"""The statements of each query, by its name."""


def all_statements() -> Texts:
    """The statements of every query."""
    with (
        tempfile.TemporaryDirectory(prefix="statements-") as folder,
        coordinator() as played,
    ):
        service = start_service(Path(folder), engine=played.address, engine_mb=0)
        try:
            service.holds(*_one_row_of_each_table())
            service.store.create(_a_path_group())
            service.follower.refresh()
            asked = chain(_standard(service), _custom(service), _metrics(service))
            return _recorded(played, asked)
        finally:
            service.close()


def stored_text(texts: Texts) -> str:
    """The text that the file should have."""
    return "\n".join(f"-- {name}\n{text};\n" for name in STORED_NAMES for text in texts[name])


def _one_row_of_each_table() -> list[Any]:
    rows = [a_view(), an_event(), an_error("e"), a_vital("LCP", 1.5), an_engagement("/")]
    rows += [an_identity(profile="p1"), a_click()]
    assert {row.table for row in rows} == {kind.table for kind in ALL_KINDS}
    rows += [a_quarantined_item(), ledger_counts(stored=1)]
    return rows


def _a_path_group() -> PathGroup:
    owner = {"organization_id": "acme", "website_id": "shop"}
    paths = ("/blog", "/blog/*")
    return PathGroup(id="pgrp_1", name="Blog", paths=paths, created_at=1, updated_at=1, **owner)


def _recorded(played: Coordinator, names: Iterable[str]) -> Texts:
    """What the coordinator got while each query was asked."""
    texts = {}
    played.statements.clear()
    for name in names:
        texts[name] = [_shown(text) for text in played.statements]
        played.statements.clear()
    return texts


def _shown(text: str) -> str:
    """Without spaces at the ends of lines."""
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


def _standard(service: InProcessService) -> Iterator[str]:
    needed = {"session_id": "s1", "anonymous_id": "u1"}
    for name, query_type in QUERY_TYPES.items():
        subject = "link:go" if query_type.subject is SubjectKind.LINK else "shop"
        own = msgspec.to_builtins(query_type.example) if query_type.example else {}
        filters = [
            {"field": n, "op": "eq", "value": needed[n]} for n in query_type.required_filters
        ]
        reply = service.query({"name": name, **own}, subject=subject, filters=filters)
        assert reply.status == 200, (name, reply.json)
        assert reply.json["data"][0]["success"], (name, reply.json)
        yield name


def _custom(service: InProcessService) -> Iterator[str]:
    numbers = [{"field": "load_time", "aggregate": a.name, "alias": a.name} for a in AGGREGATES]
    yield _ask_custom(service, "aggregates", *numbers)
    count = {"field": "*", "aggregate": "count"}
    values: Mapping[Arity, Mapping[str, Any]] = {
        Arity.ONE: {"value": "a"},
        Arity.MANY: {"value": ["a", "b'"]},
        Arity.NONE: {},
    }
    filters = [
        {"not": {"field": "country", "operator": operator.name, **values[operator.arity]}}
        for operator in OPERATORS
    ]
    yield _ask_custom(service, "operators", count, filters=filters)
    property_ = {"field": "properties.seats", "aggregate": "avg", "alias": "mean"}
    paid = {"field": "properties.paid", "operator": "eq", "value": True}
    yield _ask_custom(service, "properties", property_, groupBy=["properties.plan"], filters=[paid])
    for granularity in ("hourly", "daily", "weekly", "monthly", "hour_of_day", "day_of_week"):
        yield _ask_custom(service, granularity, count, groupBy=[f"time:{granularity}"])
    for name in CUSTOM_TABLES:
        if name != "clicks":
            yield _ask_custom(service, f"table {name}", count, table=name)


def _ask_custom(
    service: InProcessService, name: str, *selects: object, table: str = "events", **query: Any
) -> str:
    reply = service.custom(table, selects, **query)
    assert reply.status == 200, reply.json
    return name


def _metrics(service: InProcessService) -> Iterator[str]:
    for metric in METRICS:
        dimension = "topic" if metric in LEDGER_METRICS else "country"
        body = {"metrics": [metric.name], "dimensions": [dimension], **NOVEMBER}
        reply = service.ask("POST", "/v1/query/metrics", body, website_id="shop")
        assert reply.status == 200, (metric.name, reply.json)
        yield metric.name


def main() -> None:
    STORED.write_text(stored_text(all_statements()))


if __name__ == "__main__":
    main()
