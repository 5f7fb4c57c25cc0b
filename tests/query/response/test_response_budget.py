"""The budget of one HTTP request: results within it, errors above it, and work that stops then."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from query.response.json_response import encode_within, json_pieces, reserve_pieces
from query.response.large_response import SEND_BYTES, LargeResponse, cancelled_on_disconnect
from query.response.response_budget import MAX_RESPONSES_PER_TENANT, ResponseBudget, ResponseMemory
from schemas.errors import ResultTooLarge, Unavailable
from schemas.http.asgi import ClientDisconnected
from tests.query.lake import a_view
from tests.query.query_service import NOVEMBER, InProcessService, start_service

WEEK = {"startDate": "2026-11-01", "endDate": "2026-11-06", "granularity": "minute"}
"""8,640 minutes: a series has that many points, whatever was stored."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> InProcessService:
    """A shop with 300 paths of 251 letters: more than 75,000 bytes of them."""
    running = start_service(tmp_path_factory.mktemp("service"), answer_bytes=65_536)
    running.holds(*(a_view(f"/{n:0250}") for n in range(300)))
    return running


def outcomes(reply: Any) -> list[str]:
    """`ok` or the code, of each parameter."""
    return ["ok" if entry["success"] else entry["code"] for entry in reply.json["data"]]


def test_a_question_too_large_for_the_answer_fails_alone_and_names_the_budget(
    service: InProcessService,
) -> None:
    reply = service.query("summary", "top_pages", limit=1_000)

    assert reply.status == 200
    assert outcomes(reply) == ["ok", "RESULT_TOO_LARGE"]
    assert reply.json["data"][0]["data"][0]["pageviews"] == 300
    assert reply.json["data"][1]["data"] == []
    assert "100,000 rows and 0.0625 MiB" in reply.json["data"][1]["error"]


def test_an_array_of_requests_shares_one_budget(service: InProcessService) -> None:
    half = {"parameters": ["top_pages"], "limit": 150, **NOVEMBER}

    reply = service.ask("POST", "/v1/query", [half] * 4, website_id="shop")

    codes = [result["data"][0].get("code", "ok") for result in reply.json["results"]]
    assert codes == ["ok", "RESULT_TOO_LARGE", "RESULT_TOO_LARGE", "RESULT_TOO_LARGE"]
    assert len(reply.body) < 70_000


@pytest.mark.parametrize("format_", ["json", "csv", "ndjson"])
def test_a_custom_query_too_large_for_the_answer_is_refused(
    service: InProcessService, format_: str
) -> None:
    query = {
        "table": "events",
        "selects": [{"field": "*", "aggregate": "count"}],
        "groupBy": ["path"],
    }

    reply = service.ask(
        "POST", "/v1/query/custom", {"query": query, **NOVEMBER}, website_id="shop", format=format_
    )

    assert (reply.status, reply.json["code"]) == (400, "RESULT_TOO_LARGE")
    fewer = {"query": query, "limit": 5, **NOVEMBER}
    assert service.ask("POST", "/v1/query/custom", fewer, website_id="shop").status == 200


def test_all_rows_of_a_request_are_at_most_a_hundred_thousand(tmp_path: Path) -> None:
    roomy = start_service(tmp_path, answer_bytes=2**26)
    series = ["sessions_time_series"] * 13

    reply = roomy.query(*series, **WEEK)

    # 11 times 8,640 are 95,040 rows; a twelfth does not fit.
    assert sorted(outcomes(reply), reverse=True) == ["ok"] * 11 + ["RESULT_TOO_LARGE"] * 2


@pytest.mark.parametrize(("parameters", "cost"), [(1, 1), (10, 1), (11, 2), (20, 2), (100, 10)])
def test_each_ten_query_types_more_cost_as_much_as_a_request(
    tmp_path: Path, parameters: int, cost: int
) -> None:
    fresh = start_service(tmp_path)

    reply = fresh.query(*["no_such_type"] * parameters)

    assert int(reply.headers["x-ratelimit-remaining"]) == 30_000 - cost


def test_what_does_not_fit_gives_its_bytes_back() -> None:
    async def scene() -> tuple[int, int]:
        memory = ResponseMemory(1_000)
        budget = ResponseBudget(memory, "acme", 10)
        reserve_pieces([b"x" * 400], budget)
        with pytest.raises(ResultTooLarge):
            reserve_pieces([b"x" * 500, b"x" * 101], budget)
        during = memory.held
        budget.close()
        with pytest.raises(ResultTooLarge):  # a thread that goes on when nobody waits any more
            reserve_pieces([b"x"], budget)
        return during, memory.held

    assert asyncio.run(scene()) == (400, 0)


def test_answers_that_nobody_reads_are_few_for_one_tenant_and_leave_room_for_others() -> None:
    async def scene() -> int:
        memory = ResponseMemory(1_000)
        unread = [ResponseBudget(memory, "acme", 10) for _ in range(MAX_RESPONSES_PER_TENANT + 1)]
        for budget in unread[:-1]:
            budget.reserve(1_000)
        with pytest.raises(Unavailable, match="are not read yet"):
            unread[-1].reserve(1)
        ResponseBudget(memory, "globex", 10).reserve(1_000)
        unread[0].close()
        unread[-1].reserve(1_000)
        return memory.held

    assert asyncio.run(scene()) == 5_000


def test_json_in_pieces_is_the_same_json() -> None:
    rows = [{"name": f"a{n}", "n": n, "list": [n, None]} for n in range(1_234)]
    body = {"success": True, "data": rows, "none": [], "empty": {}, "meta": {"é": 1.5, "x": [1]}}

    async def scene() -> bytes:
        budget = ResponseBudget(ResponseMemory(10**6), "acme", 10)
        entry = encode_within(body, budget)
        return b"".join(json_pieces({"data": [entry, entry], "more": entry}))

    assert json.loads(asyncio.run(scene())) == {"data": [body, body], "more": body}


def test_a_large_answer_waits_for_its_reader_piece_by_piece() -> None:
    sent: list[dict[str, Any]] = []

    async def scene(size: int) -> list[int]:
        budget = ResponseBudget(ResponseMemory(10**7), "acme", 10)
        pieces = reserve_pieces([b"x" * 1_000] * (size // 1_000), budget)
        sent.clear()

        async def send(message: Any) -> None:
            sent.append(message)

        await LargeResponse(pieces, budget)({}, None, send)  # type: ignore[arg-type]
        assert (b"content-length", b"%d" % size) in sent[0]["headers"]
        assert [message["more_body"] for message in sent[1:]] == [True] * (len(sent) - 2) + [False]
        return [len(message["body"]) for message in sent[1:]]

    large = asyncio.run(scene(1_000_000))
    assert sum(large) == 1_000_000
    assert max(large) < SEND_BYTES + 1_000
    assert asyncio.run(scene(200_000)) == [200_000]


def test_work_ends_with_the_client_that_wanted_it() -> None:
    ended: list[str] = []

    async def forever() -> None:
        async with cancelled_on_disconnect(leaves):
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("work")

    async def leaves() -> dict[str, str]:
        await asyncio.sleep(0.01)
        return {"type": "http.disconnect"}

    with pytest.raises(ClientDisconnected):
        asyncio.run(forever())
    assert ended == ["work"]
