"""Re-enrichment: a dry run shows the changes, and each day changes in one version."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from deploy.cli import main
from schemas.kinds import KINDS
from schemas.tables import EVENTS
from stream.enrich.rules.lookups import Lookups
from stream.enrich.rules.rules_version import RULES_VERSION
from stream.maintenance import re_enrichment
from stream.maintenance.compaction import compact
from stream.maintenance.re_enrichment import ReEnrichedDay, ReEnrichmentOptions, re_enrich
from stream.storage.delta_commit import LakeTable
from stream.writing.batch_writer import BatchWriter
from tests.registries import make_registry
from tests.stream.builders import (
    a_message,
    an_envelope,
    rows,
    settings,
    version,
)
from tests.stream.maintenance.re_enriched_lake import (
    FIREFOX,
    TODAY,
    everything,
    fill,
    options,
    run,
    stale,
)
from tests.stream.writing.test_backfill_writer import a_backfill, lines


def shown(done: ReEnrichedDay) -> dict[str, Any]:
    return {
        column: (done.changes.rows(column), done.changes.examples(column))
        for column in sorted(done.changes.values)
    }


def test_rows_of_the_present_rules_do_not_change(tmp_path: Path) -> None:
    fill(tmp_path, headers={"origin": "https://a.example", "sec-ch-ua-platform": '"Linux"'})
    a_backfill(tmp_path).write([a_message(0, lines(1, 3))])
    before = everything(tmp_path)
    stale(tmp_path)

    done = run(tmp_path)

    assert [(d.table, d.day, d.rows, d.changes.values) for d in done] == [
        ("events", TODAY - timedelta(days=1), 10, {}),
        ("events", TODAY, 13, {}),
    ]
    assert everything(tmp_path) == before


def test_every_kind_of_row_can_walk_again(tmp_path: Path) -> None:
    items: dict[str, dict[str, Any]] = {
        "custom_event": {"name": "a", "path": "/p"},
        "web_vitals": {"path": "https://a.example/p", "metricName": "LCP", "metricValue": 1.5},
        "error": {"message": "x", "path": "/p"},
        "click": {"slug": "s", "referrer": "https://www.google.com/"},
        "engagement": {"path": "https://a.example/p"},
        "identity": {"profileId": "p"},
    }
    config = settings(tmp_path)
    for kind in KINDS:
        sent = an_envelope([items[kind.name]], user_agent=FIREFOX)
        BatchWriter(config, kind, Lookups()).write([a_message(0, sent)])
        columns = [c.name for c in kind.table.columns if c.name not in ("day", "rules_version")]
        before = rows(config, kind.table, *columns)
        if kind.table.column("rules_version"):
            with pytest.MonkeyPatch.context() as changed:
                changed.setattr(re_enrichment, "RULES_VERSION", 7)
                done = [
                    d for d in re_enrich(config, Lookups(), options()) if d.table == kind.table.name
                ]
            assert [(d.rows, d.changes.values) for d in done] == [(1, {})]
        assert rows(config, kind.table, *columns) == before


def test_a_dry_run_shows_what_a_run_then_does_and_no_more(tmp_path: Path) -> None:
    fill(tmp_path)
    right = everything(tmp_path)
    stale(tmp_path, referrer_name="Altavista", browser_name=None)
    before, number = everything(tmp_path), version(settings(tmp_path), EVENTS).number

    dry = run(tmp_path, dry_run=True)
    assert (everything(tmp_path), version(settings(tmp_path), EVENTS).number) == (before, number)
    done = run(tmp_path)

    changes = {
        "browser_name": (10, [("None", "Firefox", 10)]),
        "referrer_name": (10, [("Altavista", "Direct", 8), ("Altavista", "Google", 2)]),
    }
    assert [shown(each) for each in dry] == [shown(each) for each in done] == [changes, changes]
    assert everything(tmp_path) == right
    assert run(tmp_path) == []


def test_only_the_website_and_the_days_that_are_asked_for_change(tmp_path: Path) -> None:
    fill(tmp_path)
    stale(tmp_path, referrer_name="Altavista")

    done = list(
        re_enrich(settings(tmp_path), Lookups(), ReEnrichmentOptions(TODAY, TODAY, website="w2"))
    )

    assert [(each.day, each.rows) for each in done] == [(TODAY, 5)]
    names = rows(settings(tmp_path), EVENTS, "website_id", "received_at", "referrer_name")
    assert sum(name == "Altavista" for *_, name in names) == 15
    assert {(w, at.date()) for w, at, name in names if name != "Altavista"} == {("w2", TODAY)}
    versions = rows(settings(tmp_path), EVENTS, "rules_version")
    assert sorted(v for (v,) in versions) == sorted([1] * 15 + [RULES_VERSION] * 5)


def test_what_only_the_request_knew_stays(tmp_path: Path) -> None:
    fill(tmp_path)
    stale(tmp_path, country="AT", sender=None, browser_name="Arc", is_bot=True)

    run(tmp_path)

    found = set(rows(settings(tmp_path), EVENTS, "country", "browser_name", "is_bot"))
    assert found == {("AT", "Arc", True)}


def test_an_own_domain_becomes_direct_when_the_registry_says_so(tmp_path: Path) -> None:
    fill(tmp_path)
    stale(tmp_path)
    own = Lookups(domain_of=lambda website: "google.com" if website == "w1" else None)

    done = list(re_enrich(settings(tmp_path), own, options(website="w1")))

    assert shown(done[0])["referrer_name"] == (1, [("Google", "Direct", 1)])


def test_each_day_is_one_version_with_as_many_rows(tmp_path: Path) -> None:
    fill(tmp_path)
    a_backfill(tmp_path).write([a_message(0, lines(1, 3))])
    stale(tmp_path, referrer_name="Altavista")
    number = version(settings(tmp_path), EVENTS).number

    run(tmp_path)

    table = LakeTable(settings(tmp_path), EVENTS)
    assert table.handle.version() == number + 2
    for each in (number, number + 1, number + 2):
        table.handle.load_as_version(each)
        uris = [uri.removeprefix("file://") for uri in table.handle.file_uris()]
        by_day: dict[str, set[bool]] = {}
        count = 0
        for uri in uris:
            names = pq.read_table(uri, columns=["referrer_name"])["referrer_name"].to_pylist()
            by_day.setdefault(uri.split("/")[-2], set()).update(n == "Altavista" for n in names)
            count += len(names)
        assert count == 23
        assert all(len(kinds) == 1 for kinds in by_day.values())


@pytest.fixture
def compacting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """A compaction merges the files between the first rewrite and its commit."""
    left = [1]
    swap = LakeTable.replace_files

    def overtaken(self: LakeTable, *config: Any, **others: Any) -> None:
        if left and others.get("data_change", True):
            left.pop()
            compact(LakeTable(settings(tmp_path), EVENTS), settings(tmp_path, small_parts=2))
        swap(self, *config, **others)

    monkeypatch.setattr(LakeTable, "replace_files", overtaken)
    return left


def test_a_compaction_in_between_makes_a_day_start_again(
    tmp_path: Path, compacting: list[int]
) -> None:
    fill(tmp_path)
    right = everything(tmp_path)
    stale(tmp_path, referrer_name="Altavista")

    done = run(tmp_path)

    assert (compacting, [each.rows for each in done]) == ([], [10, 10])
    assert everything(tmp_path) == right


def test_the_command_shows_columns_with_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(tmp_path)
    stale(tmp_path, referrer_name="Altavista")
    make_registry(settings(tmp_path).registry_url)
    monkeypatch.setenv("TIDEMARK_DATA_DIR", str(tmp_path))

    main(["reenrich", "--from", "2026-11-20", "--to", "2026-11-21", "--dry-run"])

    assert capsys.readouterr().out.splitlines() == [
        "referrer_name: 20 rows",
        "    Altavista → Direct  (16)",
        "    Altavista → Google  (4)",
        "20 rows processed; 1 column would change, in the rows named above",
    ]
