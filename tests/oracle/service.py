"""The service under test: a lake per example behind the real application, asked over HTTP."""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

from query.app import create_app
from query.request.subject import SubjectKind
from query.standard.query_types import QUERY_TYPES
from schemas.registry import RegistryStore
from schemas.registry.migrate import migrate
from schemas.runtime.settings import Settings
from schemas.tables import Table
from tests.asgi_client import request_once
from tests.http_client import Reply
from tests.oracle.aggregates import Answer
from tests.oracle.query import Question
from tests.oracle.query_strategies import Frame
from tests.oracle.stored_rows import Facts, facts
from tests.query.lake import Lake, Stored
from tests.query.query_service import NOW, furnish

MOST_AT_ONCE = 40


class Registry:
    """Tenants and their keys, the same for every example."""

    def __init__(self) -> None:
        self.folder = TemporaryDirectory(prefix="oracle-")
        settings = Settings(data_dir=self.folder.name)
        migrate(settings.registry_url)
        self.url = settings.registry_url
        self.store = RegistryStore(self.url)
        self.keys = furnish(self.store)

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
        self.facts: Facts = facts((row.table.name, row.values) for row in stored)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._served.close()
        self._folder.cleanup()

    def open(self) -> None:
        """Start the application."""
        held = registry()
        settings = Settings(
            data_dir=str(self.root), registry=held.url, query_memory_mb=256, query_threads=1
        )
        self._served = create_app(settings, held.store, clock=lambda: NOW, fresh_seconds=0)

    def holds(self, table: Table) -> bool:
        """Whether anything of the table is stored."""
        return bool(self.facts.get(table.name))

    def reopen(self) -> None:
        """Start the application anew."""
        self._served.close()
        self.open()

    def post(self, path: str, body: object, subject: str) -> Reply:
        """One request about a subject, with a key that reaches it."""
        kind = "link_id" if subject in ("go", "away") else "website_id"
        key = registry().keys["globex" if subject in ("rival", "away") else "acme"]
        return request_once(
            self._served.app, "POST", f"{path}?{kind}={subject}", body, {"x-api-key": key}
        )

    def answers(self, questions: Sequence[Question]) -> list[list[Answer]]:
        """The answer to each question."""
        return [entry["data"] for entry in self.entries(questions)]

    def entries(self, questions: Sequence[Question]) -> list[Any]:
        """All that is said to each; questions that differ in their name only go together."""
        found: dict[int, Any] = {}
        for alike in _alike(questions):
            for at in range(0, len(alike), MOST_AT_ONCE):
                portion = alike[at : at + MOST_AT_ONCE]
                entries = self.ask(questions[portion[0]], [named(questions[i]) for i in portion])
                for i, entry in zip(portion, entries, strict=True):
                    assert entry["success"], (questions[i], entry)
                    found[i] = entry
        return [found[i] for i in range(len(questions))]

    def answer(self, question: Question) -> list[Answer]:
        """The answer to one question."""
        return self.answers([question])[0]

    def ask(self, question: Question, parameters: Sequence[Any]) -> list[Any]:
        """The entries of one request."""
        reply = self.post("/v1/query", body_of(question, parameters), question.subject)
        assert reply.status == 200, reply.json
        data: list[Any] = reply.json["data"]
        return data


def every_type(frame: Frame) -> list[Question]:
    """Every query type, asked of the shop or its link."""
    return [
        frame.of(
            name,
            each.table.name,
            "go" if each.subject is SubjectKind.LINK else "shop",
            each.required_filters,
        )
        for name, each in QUERY_TYPES.items()
    ]


def named(question: Question) -> Any:
    """The parameter that asks it."""
    return {"name": question.name, **question.options} if question.options else question.name


def body_of(question: Question, parameters: Iterable[Any]) -> dict[str, Any]:
    """What is sent."""
    body: dict[str, Any] = {
        "parameters": list(parameters),
        "startDate": question.start.isoformat(),
        "endDate": question.end.isoformat(),
        "timezone": question.zone,
        "granularity": question.granularity,
        "filters": list(question.filters),
        "include_bots": question.include_bots,
        "page": question.page,
    }
    if question.limit is not None:
        body["limit"] = question.limit
    if question.order_by:
        body["orderBy"] = list(question.order_by)
    if question.compare:
        body["compare"] = {"to": question.compare}
    return body


def _alike(questions: Sequence[Question]) -> list[list[int]]:
    """Positions of questions that one request can ask."""
    groups: dict[str, list[int]] = {}
    for i, question in enumerate(questions):
        groups.setdefault(f"{question.subject} {body_of(question, ())}", []).append(i)
    return list(groups.values())
