"""What Trino must do beside the same rows: versions, limits, cancelling, errors when it is gone."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from query.app import QueryService
from query.engine.engine import Sql
from query.engine.trino.engine import TrinoEngine, trino_engine
from schemas.errors import QueryTimeout
from schemas.registry import Selector
from schemas.registry.validation import new_erasure
from tests.conformance.difference import difference
from tests.conformance.questions import Question
from tests.conformance.services import answer, ask
from tests.conformance.trino_server import TrinoServer
from tests.oracle.service import registry
from tests.query.query_service import NOVEMBER, NOW

ENDLESS = "SELECT COUNT(*) FROM events a, events b, events c, events d"
WAIT_SECONDS = 60.0
MAX_BYTES = 1_000_000
SHARE = 4
"""Statements of one organization that run at once, as `resource-groups.json` has it."""
GREEDY_SECONDS = 30.0
LONG_LIST = 150
"""So many erased visitors are compared in another form than few."""
GROUPS = "SELECT resource_group_id, query FROM system.runtime.queries"


def count_question(version: int | None = None) -> Question:
    """How many events there are, in a version."""
    count = {"field": "*", "aggregate": "count", "alias": "n"}
    body = {"query": {"table": "events", "selects": [count]}, **NOVEMBER}
    body |= {"asOf": {"events": version}} if version else {}
    return Question("versions", "POST", "/v1/query/custom", "shop", body)


def only_the_worker_reads(server: TrinoServer) -> str | None:
    """Data files are read by the worker, and none by the coordinator."""
    read = server.bytes_read()
    if read.get(server.worker.name, 0) > 0 and not read.get(server.coordinator.name, 0):
        return None
    return f"bytes by node: {read}"


def old_versions_are_read(duckdb: QueryService, trino: QueryService) -> str | None:
    """A named version has the rows that it had."""
    for version in (2, None):
        expected, found = (answer(one, count_question(version)) for one in (duckdb, trino))
        if expected != found or expected[0] != 200:
            return f"version {version}: {expected} and {found}"
    if answer(trino, count_question(2)) == answer(trino, count_question()):
        return "the named version is the newest"
    return None


def erased_rows_are_hidden(
    duckdb: QueryService, trino: QueryService, asking: Sequence[Question]
) -> str | None:
    """Trino has no row of a pending erasure, and answers as DuckDB does, older versions too."""
    store = registry().store
    [_, before] = answer(trino, _visitors_question())
    names = [row["anonymous_id"] for row in before["data"] if row["anonymous_id"]]
    hidden = [names[0], *(f"somebody-{number}" for number in range(LONG_LIST))]
    for selector, values, name in (
        (Selector.VISITOR, hidden, ""),
        (Selector.SESSION, ["s1"], ""),
        (Selector.PROPERTY, ["pro"], "plan"),
    ):
        store.create(
            new_erasure(
                *("acme", selector, values, NOW, store.tombstone_key()),
                property_name=name,
                website_id="shop",
            )
        )
    for service in (duckdb, trino):
        service.follower.refresh()
    for version in (2, None):
        [status, after] = answer(trino, _visitors_question(version))
        if status != 200 or names[0] in {row["anonymous_id"] for row in after["data"]}:
            return f"version {version}: {status}, {after}"
    for question in asking:
        if found := difference(answer(duckdb, question), answer(trino, question)):
            return f"{question.path} {question.body}: {found}"
    return None


def _visitors_question(version: int | None = None) -> Question:
    """How many events each visitor has."""
    count = {"field": "*", "aggregate": "count", "alias": "n"}
    asked = {"table": "events", "selects": [count], "groupBy": ["anonymous_id"]}
    body = {"query": asked, **NOVEMBER, **({"asOf": {"events": version}} if version else {})}
    return Question("erasures", "POST", "/v1/query/custom", "shop", body)


def a_query_beyond_its_limit_ends(server: TrinoServer) -> str | None:
    """The caller gets a timeout, and the server works no more."""
    engine = trino_engine(server.address, MAX_BYTES)
    text = f"{ENDLESS} WHERE a.name > 'limit'"
    try:
        asyncio.run(engine.rows(Sql(text), 2.0))
    except QueryTimeout:
        return None if _ended(server, text) else "it still runs on the server"
    return "it gave rows"


def organizations_have_groups_of_their_own(server: TrinoServer, trino: QueryService) -> str | None:
    """One that asks for more than its share waits for itself; another one is answered."""
    engine = trino_engine(server.address, MAX_BYTES).for_tenant("greedy")
    texts = [f"{ENDLESS} WHERE a.name > 'greedy {number}'" for number in range(SHARE + 2)]
    with ThreadPoolExecutor(len(texts)) as pool:
        asked = [pool.submit(_until_timeout, engine, text) for text in texts]
        waiting = eventually(lambda: _states(server, texts) == ["QUEUED"] * 2 + ["RUNNING"] * SHARE)
        states = _states(server, texts)
        status, _ = answer(trino, count_question())
        others = [future for future in asked if future.done()]
    groups = {tuple(group) for group, text in server.rows(GROUPS) if text in texts}
    if waiting and status == 200 and not others and groups == {("tidemark", "greedy")}:
        return None
    return f"{states}, {status}, {len(others)} had ended, groups {groups}"


def _until_timeout(engine: TrinoEngine, text: str) -> None:
    with suppress(QueryTimeout):
        asyncio.run(engine.rows(Sql(text), GREEDY_SECONDS))


def _states(server: TrinoServer, texts: list[str]) -> list[str]:
    known = server.query_states()
    return sorted(known.get(text, "") for text in texts)


def a_query_of_a_caller_that_is_gone_ends(server: TrinoServer) -> str | None:
    """The server works no more."""
    text = f"{ENDLESS} WHERE a.name > 'gone'"
    asyncio.run(_leave(trino_engine(server.address, MAX_BYTES), server, text))
    return None if _ended(server, text) else "it still runs on the server"


async def _leave(engine: TrinoEngine, server: TrinoServer, text: str) -> None:
    task = asyncio.create_task(engine.rows(Sql(text), WAIT_SECONDS))
    running = await asyncio.to_thread(
        eventually, lambda: server.query_states().get(text) == "RUNNING"
    )
    assert running, server.query_states()
    task.cancel()
    await asyncio.wait([task])


def the_death_of_a_worker_is_survived(
    server: TrinoServer, duckdb: QueryService, trino: QueryService
) -> str | None:
    """A query waits for another worker or gets 503; later ones are answered by that."""
    expected = answer(duckdb, count_question())
    server.worker.kill()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(answer, trino, count_question())
        server.start_worker()
        meanwhile = asked.result()
    if meanwhile != expected and meanwhile[0] != 503:
        return f"without a worker: {meanwhile}"
    if eventually(lambda: answer(trino, count_question()) == expected):
        return None
    return f"with another worker: {answer(trino, count_question())}, not {expected}"


def a_server_that_is_gone_is_an_error_of_the_contract(
    server: TrinoServer, trino: QueryService
) -> str | None:
    """503, with the body of every error."""
    server.kill()
    reply = ask(trino, count_question())
    expected = {"success": False, "code": "SERVICE_UNAVAILABLE"}
    body = reply.json
    found = {name: body.get(name) for name in expected}
    if reply.status == 503 and found == expected and "retry" in body["error"]:
        return None
    return f"{reply.status} {body}"


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether it holds within a generous time."""
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.1)
    return False


def _ended(server: TrinoServer, text: str) -> bool:
    return eventually(lambda: server.query_states().get(text) in ("FAILED", None))
