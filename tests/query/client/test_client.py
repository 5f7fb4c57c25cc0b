"""The Python client against a service that answers as a script says."""

import json

import pytest

from query.client import Broken, Refused, Rows, Sent
from tests.query.client.scripted_service import Playing, Said

TAKEN = json.dumps(
    {"status": "success", "type": "custom_event", "count": 1, "receipt": "r1"}
).encode()
AWAY = json.dumps({"status": "error", "message": "Kafka is away", "code": "SERVICE_UNAVAILABLE"})


def test_what_is_sent_again_keeps_its_event_ids(playing: Playing) -> None:
    client, script = playing(
        Said(503, AWAY.encode(), {"retry-after": "3"}),
        Said(200, TAKEN[:5], missing=9),
        Said(200, TAKEN),
    )

    assert client.track({"name": "signup"}, website_id="w") == Sent(1, [], ["r1"])

    first, second, third = (body for _, _, body in script.requests)
    assert first == second == third
    assert len(first[0]["eventId"]) == 32
    assert script.requests[0][0] == "/track?website_id=w"
    assert script.requests[0][1]["x-api-key"] == "tk_x"
    assert script.paused == [3.0, 1.0]


def test_an_event_id_of_the_senders_own_is_kept(playing: Playing) -> None:
    client, script = playing(Said(200, TAKEN))

    client.track([{"name": "signup", "eventId": "mine", "timestamp": 5}])

    assert script.requests[0][2] == [{"name": "signup", "eventId": "mine", "timestamp": 5}]


def test_many_items_go_in_several_requests(playing: Playing) -> None:
    rejected = [{"index": 1, "code": "VALIDATION_ERROR", "message": "'name' is required"}]
    some = json.dumps({"count": 100, "receipt": "r2", "rejected": rejected}).encode()
    client, script = playing(Said(200, TAKEN), Said(200, some))

    sent = client.track({"name": f"n{i}"} for i in range(601))

    assert [len(body) for _, _, body in script.requests] == [500, 101]
    assert sent == Sent(101, [{**rejected[0], "index": 501}], ["r1", "r2"])


def test_a_refusal_is_raised_at_once_with_its_sentence(playing: Playing) -> None:
    body = b'{"success": false, "error": "\'startDate\' is missing", "code": "VALIDATION_ERROR"}'
    client, script = playing(Said(400, body))

    with pytest.raises(Refused, match="'startDate' is missing") as raised:
        client.ask("summary", website_id="w")

    assert (raised.value.status, raised.value.code) == (400, "VALIDATION_ERROR")
    assert len(script.requests) == 1


def test_a_refusal_that_does_not_end_is_raised_in_the_end(playing: Playing) -> None:
    client, script = playing(*[Said(503, AWAY.encode())] * 3, tries=3)

    with pytest.raises(Refused, match="Kafka is away"):
        client.track({"name": "n"})

    assert script.paused == [0.5, 1.0]


def test_a_question_that_failed_alone_is_raised(playing: Playing) -> None:
    entry = {"parameter": "summary", "success": False, "error": "too slow", "code": "C", "data": []}
    client, _ = playing(Said(200, json.dumps({"data": [entry]}).encode()))

    with pytest.raises(Refused, match="summary: too slow"):
        client.ask("summary", website_id="w", preset="today")


def test_a_question_is_asked_in_the_words_of_the_contract(playing: Playing) -> None:
    response_body = {"data": [{"parameter": "pages", "success": True, "data": [{"name": "/"}]}]}
    client, script = playing(Said(200, json.dumps(response_body).encode()))

    rows = client.ask(["pages"], website_id="w", start="2026-11-01", end="2026-11-02", limit=5)

    assert rows == {"pages": Rows([{"name": "/"}])}
    assert script.requests[0][0] == "/v1/query?website_id=w"
    assert script.requests[0][2] == {
        "parameters": ["pages"],
        "startDate": "2026-11-01",
        "endDate": "2026-11-02",
        "limit": 5,
    }


def test_an_export_gives_rows_as_they_come(playing: Playing) -> None:
    client, script = playing(Said(200, b'{"a":1}\n{"a":2}\n'))
    filters = [{"field": "a", "operator": "gt", "value": 0}]

    rows = client.export("events", link_id="l", columns=["a"], filters=filters, include_bots=True)

    assert list(rows) == [{"a": 1}, {"a": 2}]
    assert script.requests[0][0] == (
        "/v1/export/events?link_id=l&format=ndjson&columns=a&filters=%5B%7B%22field%22%3A+%22a%22%2C+%22operator"
        "%22%3A+%22gt%22%2C+%22value%22%3A+0%7D%5D&include_bots=true"
    )


CHUNKED = {"transfer-encoding": "chunked"}


@pytest.mark.parametrize(
    "response",
    [
        Said(200, b'{"a":1}\n', missing=100),
        Said(200, b'8\r\n{"a":1}\n\r\n', CHUNKED),
        Said(200, b'ff\r\n{"a":1}\n', CHUNKED),
    ],
    ids=["shorter than said", "no last chunk", "half a chunk"],
)
def test_an_export_that_breaks_off_is_not_taken_for_whole(playing: Playing, response: Said) -> None:
    client, _ = playing(response)

    with pytest.raises(Broken, match="broke off"):
        list(client.export("events", website_id="w"))


def test_rows_become_a_table_or_a_data_frame() -> None:
    rows = Rows([{"name": "/", "visitors": 2}, {"name": "/b", "visitors": 1}])

    assert rows.arrow().to_pydict() == {"name": ["/", "/b"], "visitors": [2, 1]}
    assert rows.frame().to_dict(as_series=False) == {"name": ["/", "/b"], "visitors": [2, 1]}


def test_rows_carry_their_comparison(playing: Playing) -> None:
    days = [{"date": "2026-11-01", "visitors": 3}, {"date": "2026-11-02", "visitors": 4}]
    changes = [
        {
            "previous": {"date": "2026-10-01", "visitors": 2},
            "change": {"visitors": 1},
            "changePercent": {"visitors": 50.0},
        },
        {"previous": None, "change": {"visitors": None}, "changePercent": {"visitors": None}},
    ]
    entry = {"parameter": "x", "success": True, "data": days, "comparison": {"rows": changes}}
    client, script = playing(Said(200, json.dumps({"data": [entry]}).encode()))

    rows = client.ask("x", website_id="w", preset="this_month", compare="previous_period")

    assert script.requests[0][2]["compare"] == "previous_period"
    assert rows.arrow().to_pydict() == {
        "date": ["2026-11-01", "2026-11-02"],
        "visitors": [3, 4],
        "previous_date": ["2026-10-01", None],
        "previous_visitors": [2, None],
        "change_visitors": [1, None],
        "change_percent_visitors": [50.0, None],
    }


def test_two_query_types_of_one_name_need_an_id(playing: Playing) -> None:
    client, script = playing()

    with pytest.raises(ValueError, match="two query types have one name: give them an 'id'"):
        client.each(["x", {"name": "x", "limit": 1}], website_id="w")

    assert script.requests == []


def test_its_key_is_in_no_text_of_it(playing: Playing) -> None:
    client, _ = playing()

    assert client.key == "tk_x"
    assert "tk_x" not in f"{client!r} {client.track!r}"
