"""The query service under test, over a lake for each example."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

from query.app import create_app
from query.prepared import index_store
from query.prepared.prepared_results import PreparedResults
from query.request.subject import SubjectKind
from query.standard.applicability import uses_granularity
from query.standard.query_types import QUERY_TYPES
from schemas.registry import RegistryStore
from schemas.runtime.settings import Settings
from schemas.tables import Table
from tests.asgi_client import request_once
from tests.http_client import Reply
from tests.oracle.aggregates import ResultRow
from tests.oracle.path_facts import PATH_GROUPS
from tests.oracle.query import StandardQuery
from tests.oracle.query_strategies import QueryFrame
from tests.oracle.stored_rows import RowsByTable, rows_by_table
from tests.query.lake import Lake, Stored
from tests.query.query_service import NOW, fill_registry
from tests.registries import make_registry

MAX_BATCH = 40
FEW_ROLLUPS, OPENED = index_store.FEW_ROLLUPS, count()


class Registry:
    """Tenants and their keys, the same for every example."""

    def __init__(self) -> None:
        self.folder = TemporaryDirectory(prefix="oracle-")
        settings = Settings(data_dir=self.folder.name)
        make_registry(settings.registry_url)
        self.url = settings.registry_url
        self.store = RegistryStore(self.url)
        self.keys = fill_registry(self.store)
        for group in PATH_GROUPS:
            self.store.create(group)

    def close(self) -> None:
        """Let go of it."""
        self.store.close()
        self.folder.cleanup()


@cache
def registry() -> Registry:
    """Made once: that takes longer than an example."""
    return Registry()


class Service:
    """The application over a lake of its own, gone when the example is over."""

    def __init__(self, stored: Sequence[Stored], portions: int = 1) -> None:
        self._folder = TemporaryDirectory(prefix="oracle-")
        self.root = Path(self._folder.name)
        self.lake = Lake(self.root / "lake")
        for first in range(portions):
            self.lake.holds(*stored[first::portions])
        self.open()
        self.facts: RowsByTable = rows_by_table((row.table.name, row.values) for row in stored)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._served.close()
        index_store.WRITER.submit(int).result()  # no file is written into a folder being deleted
        self._folder.cleanup()
        index_store.FEW_ROLLUPS = FEW_ROLLUPS

    def open(self) -> None:
        """Start the application; every second one makes indexes of few parts as of many."""
        index_store.FEW_ROLLUPS = FEW_ROLLUPS if next(OPENED) % 2 else 0
        held = registry()
        settings = Settings(
            data_dir=str(self.root),
            registry=held.url,
            query_memory_mb=256,
            query_threads=1,
            query_seconds=120,  # a busy machine is no difference between service and oracle
        )
        self._served = create_app(settings, held.store, clock=lambda: NOW, fresh_seconds=0)

    def holds(self, table: Table) -> bool:
        """Whether anything of the table is stored."""
        return bool(self.facts.get(table.name))

    def reopen(self) -> None:
        """Restart the application."""
        self._served.close()
        self.open()

    @property
    def prepared_results(self) -> PreparedResults | None:
        """Dependencies of the running application."""
        return self._served.results

    def post(self, path: str, body: object, subject: str, more: str = "") -> Reply:
        """One request about a subject, with a key that has access to it.

        `more` is added to the query string.
        """
        kind = "link_id" if subject in ("go", "away") else "website_id"
        key = registry().keys["globex" if subject in ("rival", "away") else "acme"]
        return request_once(
            self._served.app, "POST", f"{path}?{kind}={subject}{more}", body, {"x-api-key": key}
        )

    def results(self, queries: Sequence[StandardQuery]) -> list[list[ResultRow]]:
        """The result of each query."""
        return [entry["data"] for entry in self.entries(queries)]

    def entries(self, queries: Sequence[StandardQuery]) -> list[Any]:
        """All that is said to each; questions that differ in their name only go together."""
        found: dict[int, Any] = {}
        for alike in _alike(queries):
            for at in range(0, len(alike), MAX_BATCH):
                portion = alike[at : at + MAX_BATCH]
                entries = self.ask(queries[portion[0]], [named(queries[i]) for i in portion])
                for i, entry in zip(portion, entries, strict=True):
                    assert entry["success"], (queries[i], entry)
                    found[i] = entry
        return [found[i] for i in range(len(queries))]

    def result(self, query: StandardQuery) -> list[ResultRow]:
        """The answer to one question."""
        return self.results([query])[0]

    def ask(self, query: StandardQuery, parameters: Sequence[Any], more: str = "") -> list[Any]:
        """The entries of one request."""
        reply = self.post("/v1/query", body_of(query, parameters), query.subject, more)
        assert reply.status == 200, reply.json
        data: list[Any] = reply.json["data"]
        return data


def every_type(frame: QueryFrame) -> list[StandardQuery]:
    """A query of every query type, about the shop or its link."""
    return [
        frame.of(
            name,
            query_type.table.name,
            "go" if query_type.subject is SubjectKind.LINK else "shop",
            query_type.required_filters,
        )
        for name, query_type in QUERY_TYPES.items()
    ]


def named(query: StandardQuery) -> Any:
    """The parameter that asks it."""
    return {"name": query.name, **query.options} if query.options else query.name


def body_of(query: StandardQuery, parameters: Iterable[Any]) -> dict[str, Any]:
    """The request body: granularity for types that use it, limit up to the type's."""
    query_type = QUERY_TYPES[query.name]
    body: dict[str, Any] = {
        "parameters": list(parameters),
        "startDate": query.start.isoformat(),
        "endDate": query.end.isoformat(),
        "timezone": query.zone,
        "filters": list(query.filters),
        "include_bots": query.include_bots,
        "page": query.page,
    }
    if uses_granularity(query_type):
        body["granularity"] = query.granularity
    if query.limit is not None:
        body["limit"] = min(query.limit, query_type.max_limit)
    if query.order_by:
        body["orderBy"] = list(query.order_by)
    if query.compare:
        body["compare"] = {"to": query.compare}
    return body


def _alike(queries: Sequence[StandardQuery]) -> list[list[int]]:
    """Positions of questions that one request can ask."""
    groups: dict[str, list[int]] = {}
    for i, query in enumerate(queries):
        groups.setdefault(f"{query.subject} {body_of(query, ())}", []).append(i)
    return list(groups.values())
