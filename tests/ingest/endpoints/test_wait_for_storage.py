"""`?wait=stored`: responds when the items can be queried, or after the timeout."""

import asyncio
import json
from pathlib import Path

import pytest
from deltalake import CommitProperties, DeltaTable, Field, Schema, Transaction
from deltalake.schema import PrimitiveType

from ingest.endpoints import wait_for_storage
from ingest.publishing import storage_watch
from schemas.http.server import SHUTDOWN_TIMEOUT_SECONDS
from schemas.receipts import unverified
from tests.asgi_client import request_once, send_request
from tests.http_client import Reply
from tests.ingest.in_memory_collector import InMemoryCollector, in_memory_collector

EVENT = b'{"name":"signup"}'
TRACK = "/track?website_id=shop&wait=stored"


class Worker:
    """Commits to the tables of a lake as a stream worker does, nothing but next offsets."""

    def __init__(self, folder: Path, table: str = "events") -> None:
        self._log = folder / "lake" / table / "_delta_log"
        self._log.mkdir(parents=True, exist_ok=True)

    def commit(self, name: str, next_offset: int) -> None:
        number = len(list(self._log.iterdir()))
        actions = [
            {"commitInfo": {"operation": "WRITE"}},
            {
                "add": {
                    "path": "day=2026-11-18/a.parquet",
                    "stats": '{"txn":{"appId":"1/events/0"}}',
                }
            },
            {"txn": {"appId": name, "version": next_offset, "lastUpdated": 1}},
        ]
        text = "\n".join(map(json.dumps, actions))
        whole = self._log.parent / f"{number}.tmp"  # a reader never sees half an entry
        whole.write_text(text)
        whole.rename(self._log / f"{number:020}.json")


def posted(collector: InMemoryCollector, url: str, then: list[tuple[Worker, str, int]]) -> Reply:
    """Post an event; once it is in Kafka, a worker commits what is said."""
    return asyncio.run(post(collector, url, then))


async def post(
    collector: InMemoryCollector, url: str, then: list[tuple[Worker, str, int]]
) -> Reply:
    """As `posted`, in a running event loop."""
    answering = asyncio.create_task(send_request(collector.app, "POST", url, [EVENT]))
    while not collector.producer.sent:  # noqa: ASYNC110 - it is no event, but a state
        await asyncio.sleep(0.005)
    await asyncio.sleep(0.02)
    assert not answering.done()
    for worker, name, next_offset in then:
        worker.commit(name, next_offset)
    return await answering


def partition_name(collector: InMemoryCollector) -> str:
    """The topic partition of this sender, which is the same for all its events."""
    request_once(collector.app, "POST", "/track?website_id=shop", EVENT)
    return f"1/events/{collector.producer.sent.pop().partition_key % 8}"


def test_waiting_on_a_recreated_topic_ignores_offsets_of_the_old_one(
    collector: InMemoryCollector, tmp_path: Path
) -> None:
    worker, old = Worker(tmp_path), partition_name(collector)
    new = old.replace("1/", "2/", 1)
    collector.producer.topic_id = "new"
    columns = Schema([Field("day", PrimitiveType("date"))])
    table = DeltaTable.create(str(tmp_path / "lake" / "events"), columns)
    known = CommitProperties(app_transactions=[Transaction("topic/events/new", 2)])
    table.create_write_transaction([], "append", columns, [], commit_properties=known)

    async def both() -> tuple[Reply, Reply]:
        """In one event loop, as the reading that the first one began may go on."""
        late = await post(collector, f"{TRACK}&timeout=0.3", [(worker, old, 9)])
        collector.producer.sent.clear()
        return late, await post(collector, TRACK, [(worker, old, 9), (worker, new, 9)])

    late, stored_reply = asyncio.run(both())

    assert (late.json["stored"], stored_reply.json["stored"]) == (False, True)


def test_a_success_says_that_the_items_are_stored(
    collector: InMemoryCollector, tmp_path: Path
) -> None:
    worker = Worker(tmp_path)
    worker.commit("1/events/0", 1)

    reply = posted(collector, TRACK, [(worker, partition_name(collector), 2)])

    assert (reply.status, reply.headers["tidemark-stored"]) == (200, "true")
    assert unverified(reply.json.pop("receipt")).offset == 1
    body = reply.json
    del body["receipt"]
    assert body == {"status": "success", "type": "custom_event", "count": 1, "stored": True}
    assert int(reply.headers["content-length"]) == len(reply.body)


def test_items_not_stored_in_time_are_accepted(
    collector: InMemoryCollector, tmp_path: Path
) -> None:
    worker, name = Worker(tmp_path), partition_name(collector)
    other = f"1/events/{(int(name[-1]) + 1) % 8}"
    too_early = [(worker, other, 9), (worker, name, 1), (worker, name.replace("events", "x"), 9)]

    reply = posted(collector, f"{TRACK}&timeout=0.15", too_early)

    assert (reply.status, reply.json["status"], reply.json["stored"]) == (202, "success", False)
    assert reply.json["count"] == 1


def test_commits_before_the_request_do_not_count(
    collector: InMemoryCollector, tmp_path: Path
) -> None:
    worker, name = Worker(tmp_path), partition_name(collector)
    worker.commit(name, 2)  # of a topic that was made anew, say

    assert posted(collector, f"{TRACK}&timeout=0.15", []).status == 202


def test_every_kind_of_a_batch_is_waited_for(collector: InMemoryCollector, tmp_path: Path) -> None:
    vital = {"path": "/", "metricName": "LCP", "metricValue": 812}
    items = [{"type": "custom", "name": "b"}, {"type": "web_vitals", "payload": vital}]
    body = [json.dumps(items).encode()]

    async def both(seconds: float, stored: list[str]) -> Reply:
        url = f"/batch?client_id=shop&wait=stored&timeout={seconds}"
        answering = asyncio.create_task(send_request(collector.app, "POST", url, body))
        for _ in range(1_000):
            if {sent.topic for sent in collector.producer.sent}.issuperset(stored):
                break
            await asyncio.sleep(0.01)
        for topic in stored:
            [offset] = [
                n for n, sent in enumerate(collector.producer.sent, 1) if sent.topic == topic
            ]
            partition = collector.producer.sent[offset - 1].partition_key % 8
            Worker(tmp_path, topic).commit(f"1/{topic}/{partition}", offset + 1)
        return await answering

    half = asyncio.run(both(0.3, ["events"]))
    collector.producer.sent.clear()
    complete = asyncio.run(both(2, ["events", "vitals"]))

    assert sorted(half.json["receipts"]) == ["custom_event", "web_vitals"]
    assert (half.status, half.json["stored"]) == (202, False)
    assert (complete.status, complete.json["stored"]) == (200, True)


def test_a_pixel_has_it_in_a_header(collector: InMemoryCollector, tmp_path: Path) -> None:
    Worker(tmp_path)

    url = "/px.jpg?client_id=shop&type=track&name=screen_view&wait=stored&timeout=0.01"
    reply = request_once(collector.app, "GET", url)

    assert (reply.status, reply.headers["tidemark-stored"]) == (202, "false")
    assert reply.headers["content-type"].startswith("image/")


def test_an_error_is_not_held_back(collector: InMemoryCollector) -> None:
    reply = request_once(collector.app, "POST", TRACK, b'{"name":""}')

    assert (reply.status, "stored" in reply.json) == (400, False)


@pytest.mark.parametrize(
    "query", ["wait=yes", "wait=", "wait=stored&timeout=0", "wait=stored&timeout=16",
              "wait=stored&timeout=nan", "wait=stored&timeout=x"],
)  # fmt: skip
def test_invalid_wait_parameters_are_refused(collector: InMemoryCollector, query: str) -> None:
    reply = request_once(collector.app, "POST", f"/track?website_id=shop&{query}", EVENT)

    assert (reply.status, collector.producer.sent) == (400, [])


def test_without_wait_the_response_has_no_stored(collector: InMemoryCollector) -> None:
    reply = request_once(collector.app, "POST", "/track?website_id=shop&await=stored", EVENT)

    assert (reply.status, "stored" in reply.json) == (200, False)


def test_waiting_requests_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_watch, "MAX_WAITING_REQUESTS", 1)
    collector = in_memory_collector(tmp_path)

    async def two() -> list[Reply]:
        url = f"{TRACK}&timeout=0.05"
        return await asyncio.gather(
            *(send_request(collector.app, "POST", url, [EVENT]) for _ in range(2))
        )

    replies = asyncio.run(two())

    assert [reply.status for reply in replies] == [202, 503]
    assert replies[1].json["message"] == storage_watch.TOO_MANY_WAITING
    assert len(collector.producer.sent) == 1
    assert request_once(collector.app, "POST", f"{TRACK}&timeout=0.05", EVENT).status == 202


def test_a_client_without_a_body_takes_no_slot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_watch, "MAX_WAITING_REQUESTS", 1)
    collector = in_memory_collector(tmp_path)

    async def beside_a_silent_one() -> Reply:
        silent = asyncio.create_task(send_request(collector.app, "POST", TRACK, []))
        await asyncio.sleep(0.01)
        reply = await send_request(collector.app, "POST", f"{TRACK}&timeout=0.05", [EVENT])
        silent.cancel()
        return reply

    assert asyncio.run(beside_a_silent_one()).status == 202


def test_waiting_is_refused_without_access_to_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nobody")
    collector = in_memory_collector(tmp_path, lake="s3://bucket/lake")

    reply = request_once(collector.app, "POST", TRACK, EVENT)

    assert (reply.status, reply.json["message"], collector.producer.sent) == (
        503,
        storage_watch.TABLES_NOT_LOCAL,
        [],
    )


def test_the_wait_is_shorter_than_the_shutdown_timeout() -> None:
    assert wait_for_storage.MAX_TIMEOUT_SECONDS + 1 < SHUTDOWN_TIMEOUT_SECONDS
