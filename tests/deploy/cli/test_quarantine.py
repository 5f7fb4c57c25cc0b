"""`tidemark quarantine` and `tidemark limits` against a service that answers as a script says."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.cli.context import KEY_ADVICE
from schemas.envelope import encode_chunk, encode_envelope
from schemas.kinds import CUSTOM_EVENT
from schemas.runtime.clock import now_ms
from stream.enrich.rules.lookups import Lookups
from stream.rows.kafka_message import open_message
from stream.writing.batch_writer import BatchWriter
from tests.deploy.cli.command_result import Done, Run
from tests.query.client.scripted_service import Said, Script, answering, failing, scripted_services
from tests.stream.builders import an_envelope, settings

REASON = {
    "stage": "enrich",
    "reason": "no such zone",
    "table": "events",
    "items": 3,
    "replayed": 1,
    "firstAt": "2026-11-29T21:53:20.000Z",
    "lastAt": "2026-11-29T23:53:20.000Z",
    "sample": "{}",
    "remedy": "upgrade",
}
LIMIT = {
    "group": "collect",
    "websiteId": None,
    "requests": {"limit": 6000, "used": 3},
    "items": {"limit": 60000, "used": 1200},
    "resetsIn": 12.5,
}

Ask = Callable[..., tuple[Done, Script]]


@pytest.fixture
def ask(run: Run) -> Iterator[Ask]:
    with scripted_services() as play:

        def ask(answer: Said, *arguments: str) -> tuple[Done, Script]:
            client, script = play(answer)
            done = run(*arguments, "--url", client.query_url, TIDEMARK_API_KEY="tk_x")
            return done, script

        yield ask


def test_reasons_are_listed(ask: Ask) -> None:
    done, script = ask(answering(REASON), "quarantine", "--website", "w", "--days", "3")

    assert (done.code, done.err) == (0, "")
    head, row = done.out.splitlines()
    names = ["items", "replayed", "stage", "table", "firstAt", "lastAt", "reason", "remedy"]
    assert head.split() == [*names, "sample"]
    times = f"{REASON['firstAt']} {REASON['lastAt']}"
    assert row.split() == f"3 1 enrich events {times} no such zone upgrade {{}}".split()
    assert script.requests[0][0] == "/v1/quarantine?website_id=w&days=3"
    assert json.loads(ask(answering(REASON), "quarantine", "--json")[0].out) == [REASON]


def test_messages_without_a_website_are_listed_with_their_bytes(run: Run, tmp_path: Path) -> None:
    at, bad_item = now_ms(), an_envelope([{"name": "a"}, {"name": 7}], received_ms=now_ms())
    bodies = (b"no chunk", b"nor this", encode_chunk([encode_envelope(bad_item)]))
    messages = [open_message(0, offset, at, body) for offset, body in enumerate(bodies)]
    BatchWriter(settings(tmp_path), CUSTOM_EVENT, Lookups()).write(messages)

    listed = json.loads(run("quarantine", "--all", "--json").out)

    assert [(e["items"], e["stage"], e["website"], e["position"]) for e in listed] == [
        (2, "decode", None, "events/0/1/0"),
        (1, "decode", "w1", "events/0/2/1"),
    ]
    assert "events/0/1/0" in run("quarantine", "--all").out
    assert run("quarantine", "--payload", "events/0/1/0") == (0, "nor this", "")
    assert run("quarantine", "--payload", "events/0/2/1").out == '{"name": 7}'
    assert run("quarantine", "--payload", "events/0/9/0").err == (
        "tidemark: the quarantine has no entry at events/0/9/0\n"
    )
    assert run("quarantine", "--payload", "events/nine").code == 2


def test_limits_are_listed_with_what_is_used(ask: Ask) -> None:
    done, script = ask(answering(LIMIT), "limits", "--website", "w")

    assert (done.code, done.err) == (0, "")
    row = done.out.splitlines()[1].split()
    assert " ".join(row) == "collect – 3 of 6,000 1,200 of 60,000 – 12.5"
    assert script.requests[0][0] == "/v1/limits?website_id=w"
    assert json.loads(ask(answering(LIMIT), "limits", "--json")[0].out) == [LIMIT]


def test_an_error_of_the_service_is_one_line(ask: Ask) -> None:
    done, _ = ask(failing(403, "FORBIDDEN", "This key lacks the scope 'manage:websites'"), "limits")

    assert (done.code, done.out) == (1, "")
    assert done.err == f"tidemark: This key lacks the scope 'manage:websites'. {KEY_ADVICE}\n"


def test_a_replay_names_its_items_and_gives_changes_that_can_be(run: Run) -> None:
    nameless = run("quarantine", "replay")
    wrong_change = run("quarantine", "replay", "--website", "w", "--set", "eventId = 1")
    wrong_condition = run("quarantine", "replay", "--website", "w", "--where", "stage = decode")
    wrong_place = run("quarantine", "replay", "--position", "events/0/1")

    assert {done.code for done in (nameless, wrong_change, wrong_condition, wrong_place)} == {2}
    assert "a position is TOPIC/PARTITION/OFFSET/SEQ" in wrong_place.err
    assert "name the items: --website ID, or --position POSITION" in nameless.err
    assert "--set 'eventId' cannot be set: it makes a replay count once" in wrong_change.err
    assert "--where 'stage = decode': give 'reason contains TEXT'" in wrong_condition.err
