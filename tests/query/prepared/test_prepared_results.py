"""Prepared results over HTTP: when they answer, and what makes them."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from deltalake import DeltaTable

import query.prepared.prepared_results as module
from query.engine.column_rows import Numbers
from query.prepared.rollup_file import (
    HASH_COLUMN,
    HASHES,
    read_column,
    read_contents,
    write_tables,
)
from query.standard.query_types import QUERY_TYPES
from schemas.lake.table_location import table_url
from schemas.tables import EVENTS
from schemas.telemetry.instruments import REGISTRY
from tests.query.lake import a_view, a_vital
from tests.query.query_service import NOW, InProcessService, start_service

TYPES = ("summary", "events_by_date", "pages", "country")
TODAY = "2026-11-30T00:10:00Z"


def ask(service: InProcessService, **more: Any) -> tuple[Sequence[bool], list[Any]]:
    """Which answers were prepared, and the rows of all."""
    entries = service.query(*TYPES, **more).json["data"]
    assert all(entry["success"] for entry in entries), entries
    found = [entry["meta"].get("prepared", False) for entry in entries]
    return found, [entry["data"] for entry in entries]


def prepare(service: InProcessService) -> None:
    assert service.results is not None
    asyncio.run(service.results.make_pending())


def stored(service: InProcessService) -> None:
    service.lake.holds(
        *(a_view(f"/{i % 3}", visitor=f"u{i % 4}", session=f"s{i % 5}") for i in range(9))
    )


def files(service: InProcessService) -> list[Path]:
    return sorted(Path(service.data, "prepared").glob("*/*/*.parquet"))


def test_the_second_answer_is_prepared(service: InProcessService) -> None:
    stored(service)
    first = ask(service)
    prepare(service)

    assert first[0] == [False] * 4
    assert ask(service) == ([True] * 4, first[1])
    assert len(files(service)) == 1


def test_what_could_not_be_made_is_tried_again_later(
    service: InProcessService, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(service)
    now = NOW
    monkeypatch.setattr(service.results, "_clock", lambda: now)
    with monkeypatch.context() as patched:
        patched.setattr(module, "PREPARE_SECONDS", -1.0)  # times out
        ask(service)
        prepare(service)
    found = []
    for minutes in (0, 9, 10):
        now = NOW + minutes * 60_000
        ask(service)
        prepare(service)
        found.append(len(files(service)))

    assert found == [0, 0, 1]


def test_sequences_of_pages_are_made_when_they_are_asked_for(service: InProcessService) -> None:
    stored(service)
    steps = {("summary",): ["totals"], ("paths", "session_flow"): ["sequences", "totals"]}
    for types, kinds in steps.items():
        service.query(*types)
        prepare(service)

        assert [path.name.split("-")[0] for path in files(service)] == kinds
        entries = service.query(*types).json["data"]
        assert [entry["meta"]["prepared"] for entry in entries] == [True] * len(types)


def test_measurements_may_be_as_large_as_they_are_accepted(service: InProcessService) -> None:
    stored(service)
    service.lake.holds(a_vital("LCP", 10**12), a_vital("LCP", 10**12), a_vital("LCP", -(10**12)))
    types = [
        {"name": name, "orderBy": [{"field": field, "direction": "desc"}]}
        for name, field in (("vitals_overview", "p75"), ("web_vitals_by_page", "p75_lcp"))
    ]
    before = service.query(*types).json["data"]
    assert [entry["success"] for entry in before] == [True] * len(types)
    prepare(service)

    after = service.query(*types).json["data"]
    assert [entry["data"] for entry in after] == [entry["data"] for entry in before]
    assert all(entry["meta"]["prepared"] for entry in after)


def test_measurements_have_parts_of_their_own(service: InProcessService) -> None:
    stored(service)
    service.lake.holds(a_vital("LCP", 2.5), a_vital("LCP", 3), a_view("/", load_time=90))
    kinds = {"vitals_overview": "vitals", "slow_pages": "loads", "summary": "totals"}
    before = {name: service.rows(name) for name in kinds}
    prepare(service)

    made = [path.name.split("-")[0] for path in files(service)]
    assert sorted({*made}) == sorted(kinds.values())
    assert made.count("vitals") == 1
    for name, rows in before.items():
        [entry] = service.query(name).json["data"]
        assert (entry["data"], entry["meta"]["prepared"]) == (rows, True)
    # a later file of one table leaves the rollups of others where they are
    service.lake.holds(a_vital("LCP", 4))
    service.query("custom_events_recent")
    prepare(service)
    assert {path.name.split("-")[0] for path in files(service)} == {*kinds.values()}
    assert service.rows("vitals_overview")[0]["samples"] == 3


def test_answers_are_counted_by_what_they_come_from(service: InProcessService) -> None:
    def counted() -> tuple[float, ...]:
        return tuple(
            REGISTRY.get_sample_value("tidemark_prepared_answers_total", {"source": source}) or 0
            for source in ("prepared", "rows")
        )

    stored(service)
    prepared, rows = counted()
    ask(service)
    assert counted() == (prepared, rows + len(TYPES))
    prepare(service)
    ask(service)
    service.query("custom_events_recent")
    assert counted() == (prepared + len(TYPES), rows + len(TYPES))


def test_a_version_whose_files_are_gone_is_not_answered_by_its_parts(
    service: InProcessService,
) -> None:
    stored(service)
    lists = ("session_list", "profile_list")
    ask(service)
    prepare(service)
    for _ in range(2):
        versions = service.query(*lists, *TYPES).json["meta"]["versions"]
    data_files = service.lake.paths(EVENTS)
    DeltaTable(table_url(str(service.lake.root), EVENTS)).delete()

    found, [[summary], *_] = ask(service, asOf=versions)
    assert (found, summary["pageviews"]) == ([True] * 4, 9)
    for path in data_files:
        path.unlink()

    for name in (*lists, *TYPES):
        reply = service.query(name, asOf=versions)
        assert (reply.status, reply.json["code"]) == (410, "VERSION_GONE"), name
    assert ask(service)[1][0][0]["pageviews"] == 0


def test_a_part_that_is_gone_is_not_counted_beside_its_rows(service: InProcessService) -> None:
    """What was made of a set with that rollup is in memory, and does not answer."""
    for day in ("08", "09", "10"):
        service.holds(
            *(a_view("/", visitor=f"u{i}", at=f"2026-11-{day}T10:0{i}:00Z") for i in range(9))
        )
    ask(service)
    prepare(service)
    assert ask(service)[1][0][0]["pageviews"] == 27
    removed, *_ = files(service)
    removed.unlink()

    found, [[summary], *_] = ask(service, startDate="2026-11-02")

    assert found == [True] * 4
    assert (summary["pageviews"], summary["unique_visitors"]) == (27, 9)


Change = Callable[[str, str, Numbers], Numbers]
"""The numbers of a table and column in place of those that a rollup has."""


def without_hashes(table: str, _: str, numbers: Numbers) -> Numbers:
    return numbers[:0] if table in HASHES.values() else numbers


def without_numbers(table: str, column: str, numbers: Numbers) -> Numbers:
    return numbers if table in HASHES.values() or column == "quarter" else numbers * 0 + 10**6


def of_half_the_hashes(table: str, _: str, numbers: Numbers) -> Numbers:
    return numbers[: len(numbers) // 2] if table in HASHES.values() else numbers


def craft(path: Path, change: Change) -> None:
    """A rollup with other numbers, whose checksums fit."""
    name = f"{path.parent.name}/{path.name}"
    columns: dict[str, dict[str, Numbers]] = {}
    texts: dict[str, dict[str, Sequence[str]]] = {}
    with path.open("rb") as file:
        contents = read_contents(file, name)
        for table, stored in contents.tables.items():
            columns[table], texts[table] = {}, {}
            for column in stored.columns:
                numbers, of_column = read_column(file, contents, table, column)
                columns[table][column] = change(table, column, numbers.astype(np.int64))
                if column in stored.texts:
                    columns[table][column] = numbers
                    texts[table][column] = of_column
    hashes = {column: columns.pop(table)[HASH_COLUMN] for column, table in HASHES.items()}
    with path.open("wb") as file:
        write_tables(file, name, hashes, columns, texts)


@pytest.mark.parametrize("change", [without_hashes, without_numbers, of_half_the_hashes])
def test_parts_that_cannot_be_joined_are_made_anew(
    service: InProcessService,
    change: Change,
    caplog: pytest.LogCaptureFixture,
) -> None:
    stored(service)
    _, rows = ask(service)
    prepare(service)
    for path in files(service):
        craft(path, change)

    assert ask(service)[1] == rows
    assert any("prepared rollup" in message for message in caplog.messages)
    for _ in range(3):  # queries side by side may read what another one removes meanwhile
        ask(service)  # asks for the rollups that were removed
        prepare(service)
    assert ask(service) == ([True] * 4, rows)


def test_days_without_data_files_have_no_rows_to_read(service: InProcessService) -> None:
    stored(service)
    own = {"goals": {"goals": [{"path": "/"}, {"event": "signup"}]}}
    names = [
        {"name": each.name, **own.get(each.name, {})}
        for each in QUERY_TYPES.values()
        if each.prepared is not None
    ]
    earlier = {"startDate": "2026-01-01", "endDate": "2026-01-07", "parameters": names}

    entries, by_rows = (
        service.ask("POST", "/v1/query", earlier, website_id="shop", **more).json["data"]
        for more in ({}, {"prepared": "false"})
    )

    assert all(entry["meta"].pop("prepared", False) for entry in entries)
    assert entries == by_rows


def test_the_request_may_refuse_them(service: InProcessService) -> None:
    stored(service)
    ask(service)
    prepare(service)
    body = {"parameters": list(TYPES), "startDate": "2026-11-01", "endDate": "2026-11-30"}

    reply = service.ask("POST", "/v1/query", body, website_id="shop", prepared="false")
    wrong = service.ask("POST", "/v1/query", body, website_id="shop", prepared="no")

    assert not any("prepared" in entry["meta"] for entry in reply.json["data"])
    assert wrong.status == 400
    assert wrong.json["error"] == "'prepared' is 'no'; it must be true or false"


def test_a_filter_on_the_text_of_a_list_chooses_among_its_rows(service: InProcessService) -> None:
    stored(service)
    ask(service)
    prepare(service)
    filters = [{"field": "path", "operator": "in", "value": ["/1", "/2"]}]

    found, [*_, pages, _] = ask(service, filters=filters)

    assert found == [False, False, True, True]
    assert [(row["name"], row["pageviews"], row["percentage"]) for row in pages] == [
        ("/1", 3, 50.0),
        ("/2", 3, 50.0),
    ]


def test_another_website_sees_nothing_of_it(service: InProcessService) -> None:
    stored(service)
    service.lake.holds(a_view("/other", website="blog"))
    ask(service)
    ask(service, subject="blog")
    prepare(service)

    found, [[summary], _, pages, _] = ask(service, subject="blog")

    assert found == [True] * 4
    assert summary["pageviews"] == 1
    assert [row["name"] for row in pages] == ["/other"]


def test_without_disk_nothing_is_prepared(tmp_path: Path) -> None:
    service = start_service(tmp_path, prepared_mb=0)
    stored(service)

    ask(service)

    assert service.results is None
    assert not files(service)


def test_zones_with_days_of_the_same_names_have_their_own_borders(
    service: InProcessService,
) -> None:
    """A year in Berlin and in Algiers begins and ends at the same instants."""
    at = "2026-07-10T22:30:00Z"
    service.lake.holds(a_view(at=at, received=at), a_view(at="2026-07-10T12:00:00Z", received=at))
    year: Mapping[str, Any] = {"startDate": "2026-01-01", "endDate": "2026-12-31"}
    ask(service, **year)
    prepare(service)

    days = {}
    for zone in ("Europe/Berlin", "Africa/Algiers"):
        found, [_, series, *_] = ask(service, **year, timezone=zone)
        assert found == [True] * 4
        days[zone] = {row["date"]: row["pageviews"] for row in series if row["pageviews"]}

    assert days == {
        "Europe/Berlin": {"2026-07-10": 1, "2026-07-11": 1},
        "Africa/Algiers": {"2026-07-10": 2},
    }


def test_a_part_that_cannot_be_made_is_not_tried_again(service: InProcessService) -> None:
    stored(service)
    first = ask(service)
    Path(service.data, "prepared").write_text("no folder")

    prepare(service)

    assert ask(service) == first
    prepare(service)
    assert ask(service) == first
