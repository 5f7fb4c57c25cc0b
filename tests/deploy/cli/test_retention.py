"""tidemark retention: what is due by website and table, before the keeper deletes it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schemas.kinds import CUSTOM_EVENT
from schemas.registry.keep_days import DAY_MS
from schemas.runtime.clock import format_instant, now_ms
from schemas.runtime.settings import Settings
from stream.enrich.rules.lookups import Lookups
from stream.writing.batch_writer import BatchWriter
from tests.deploy.cli.command_result import Run
from tests.stream.builders import a_message, an_envelope


@pytest.fixture
def shop(ask: Callable[..., Any], tmp_path: Path) -> str:
    """A website with an event of today and two of three days ago; another with one of then."""
    owner = ask("organizations", "create", "--name", "Acme", "--keep-days", "30")["id"]
    create = ("websites", "create", "--organization", owner, "--id")
    ask(*create, "shop", "--domain", "shop.example", "--keep-days", "events=2")
    ask(*create, "blog", "--domain", "blog.example")
    old, now = now_ms() - 3 * DAY_MS, now_ms()
    envelopes = [
        an_envelope([{"name": "a"}], subject_id="shop", received_ms=now),
        an_envelope([{"name": "a"}, {"name": "b"}], subject_id="shop", received_ms=old),
        an_envelope([{"name": "a"}], subject_id="blog", received_ms=old),
    ]
    config = Settings(data_dir=str(tmp_path))
    BatchWriter(config, CUSTOM_EVENT, Lookups()).write([a_message(0, *envelopes)])
    return "shop"


def day(days: int) -> str:
    return str(format_instant(now_ms() - days * DAY_MS))[:10]


def events_of(rows: list[dict[str, Any]], owner: str) -> Any:
    (row,) = (row for row in rows if (row["owner"], row["table"]) == (owner, "events"))
    return row["keepDays"], row["keptFrom"], row["dueRows"]


def test_due_rows_are_listed_by_website_and_table(ask: Callable[..., Any], shop: str) -> None:
    rows = ask("retention", "--dry-run")

    assert events_of(rows, shop) == (2, day(2), 2)
    assert events_of(rows, "blog") == (30, day(30), 0)
    vitals = next(row for row in rows if (row["owner"], row["table"]) == (shop, "vitals"))
    assert (vitals["keepDays"], vitals["dueRows"], vitals["dueBytes"]) == (30, 0, 0)
    assert next(row["dueBytes"] for row in rows if row["dueRows"]) > 0


def test_other_days_are_tried_without_a_change(
    ask: Callable[..., Any], run: Run, shop: str
) -> None:
    tried = ask("retention", "--website", "blog", "--keep-days", "1")

    assert events_of(tried, "blog") == (1, day(1), 1)
    assert {row["owner"] for row in tried} == {"blog"}
    assert ask("websites", "show", "blog")["keepDays"] == {}
    refused = run("retention", "--keep-days", "1")
    assert (refused.code, "--keep-days needs --website" in refused.err) == (2, True)
    unknown = run("retention", "--website", "nowhere")
    assert (unknown.code, unknown.err) == (2, "tidemark: no website 'nowhere'\n")


def test_rows_of_a_website_that_is_deleted_for_good_are_due(
    ask: Callable[..., Any], shop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask("websites", "delete", "blog")
    assert {row["owner"] for row in ask("retention")} == {shop}
    monkeypatch.setenv("TIDEMARK_PURGE_DAYS", "0")

    rows = ask("retention")

    assert events_of(rows, "blog") == (None, None, 1)
