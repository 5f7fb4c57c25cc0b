"""What both engines are asked: every query type, random custom and metrics queries, exports."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec import Struct

from query.request.time_range import Granularity
from query.standard.query_types import QUERY_TYPES
from schemas.kinds import ALL_KINDS
from tests.oracle.custom_query_strategies import custom_queries
from tests.oracle.metrics_query_strategies import metrics_queries
from tests.oracle.query_strategies import frames, plain
from tests.oracle.random_traffic import Stage
from tests.oracle.service import body_of, every_type, named

Drawn = TypeVar("Drawn")
GRANULARITIES = tuple(Granularity)


class Question(Struct, frozen=True):
    """One request, and the group under which it is reported."""

    group: str
    method: str
    path: str
    subject: str
    body: Mapping[str, Any] | None = None


def questions(stage: Stage, frame_count: int, random_count: int) -> Iterator[Question]:
    """All questions; `frame_count` variants of each query type, `random_count` others."""
    yield from _standard(stage, frame_count)
    for query in drawn(custom_queries(stage), random_count * 3 // 5):
        yield _posted("custom queries", "/v1/query/custom", query.subject, query.body)
    for asked in drawn(metrics_queries(stage), random_count * 2 // 5):
        yield _posted("metrics queries", "/v1/query/metrics", asked.subject, asked.body)
    for kind in ALL_KINDS:
        subject = "go" if kind.table.name == "clicks" else "shop"
        path = f"/v1/export/{kind.table.name}?format=ndjson&startDate={stage.day}"
        yield Question("exports", "GET", f"{path}&endDate={stage.day}", subject)


def drawn(strategy: st.SearchStrategy[Drawn], count: int) -> list[Drawn]:
    """Values of a strategy, the same in every run."""
    found: list[Drawn] = []
    if count < 1:
        return found

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def keep(value: Drawn) -> None:
        found.append(value)

    _call(keep)
    return found


def _call(function: Callable[[], None]) -> None:
    function()


def _standard(stage: Stage, frame_count: int) -> Iterator[Question]:
    """Every query type about everything, and about parts by random filters and pages."""
    wide = drawn(plain(stage, GRANULARITIES), 1)
    for frame in [*wide, *drawn(frames(stage, GRANULARITIES), frame_count - 1)]:
        for query in every_type(frame):
            body = body_of(query, [named(query)])
            assert query.name in QUERY_TYPES
            yield _posted(query.name, "/v1/query", query.subject, body)


def _posted(group: str, path: str, subject: str, body: Mapping[str, Any]) -> Question:
    return Question(group, "POST", path, subject, body)
