"""Golden tables: what each step makes of what trackers send."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest

from schemas.kinds import (
    CLICK,
    ERROR_REPORT,
    KINDS,
    PAGE_ENGAGEMENT,
    VISITOR_IDENTITY,
    WEB_VITAL,
    Kind,
)
from stream.enrich.backfill_pipeline import BACKFILL_PIPELINE
from stream.enrich.pipeline import (
    PIPELINE,
    EnrichmentStep,
    Pipeline,
    StepOrderError,
    build_pipeline,
    enrich_rows,
    run_pipeline,
)
from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.hashes import optional_hash63
from stream.enrich.rules.lookups import Lookups
from stream.enrich.rules.urls import normal_path, query_parameters, split_url
from stream.enrich.steps.form import put_form
from stream.enrich.steps.identity import put_identity
from stream.enrich.steps.referrer import put_referrer
from stream.rows.arrow_tables import arrow_table
from stream.rows.facts import Facts
from stream.rows.row_batch import ROW_IDENTITY
from tests.stream.builders import NOON_MS
from tests.stream.enrich.enriched_rows import facts, row, rows_of

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
VIEW = {"name": "screen_view"}
LEAST_ITEM: dict[str, dict[str, Any]] = {
    "custom_event": {"name": "x"},
    "web_vitals": {"path": "/", "metricName": "CLS", "metricValue": 0.1},
    "error": {"message": "boom"},
    "click": {"slug": "abc"},
    "engagement": {"path": "/cart"},
    "identity": {"profileId": "p1"},
}
"""An item of each kind with the required fields only."""


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_line_fills_every_column_of_every_kind(kind: Kind) -> None:
    rows = rows_of(kind, [LEAST_ITEM[kind.name]])

    run_pipeline(rows, Lookups())

    own = {column.name for column in kind.table.columns} - {"day", "epoch"}
    assert own <= set(rows.columns)
    assert arrow_table(kind.table, rows.columns).num_rows == 1


def test_the_steps_are_named_as_in_the_readme() -> None:
    readme = (Path(__file__).parents[3] / "stream" / "README.md").read_text()

    assert [step.name for step in PIPELINE if f"`{step.name}`" not in readme] == []


def test_a_step_before_the_one_whose_facts_it_reads_is_refused() -> None:
    with pytest.raises(StepOrderError, match="put_referrer reads page, page_properties"):
        build_pipeline(*sorted(PIPELINE, key=lambda step: step.run is not put_referrer))
    with pytest.raises(StepOrderError, match=r"put_channel reads columns\.referrer_type"):
        build_pipeline(*(step for step in PIPELINE if step.run is not put_referrer))
    with pytest.raises(StepOrderError, match="put_form: Facts has no field 'pages'"):
        build_pipeline(EnrichmentStep(put_form, writes=("pages",)))


class Recorded(dict[str, Any]):
    """Columns that note which of them are read and written."""

    def __init__(self, columns: dict[str, Any]) -> None:
        super().__init__(columns)
        self.read: set[str] = set()
        self.written: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return super().get(name, default)

    def __setitem__(self, name: str, value: Any) -> None:
        self.written.add(name)
        super().__setitem__(name, value)


class RecordedFacts(Facts):
    """Facts that note which of them are read and written."""

    read: ClassVar[set[str]] = set()
    written: ClassVar[set[str]] = set()

    def __getattribute__(self, name: str) -> Any:
        if name in Facts.__struct_fields__:
            self.read.add(name)
        return super().__getattribute__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in Facts.__struct_fields__:
            self.written.add(name)
        super().__setattr__(name, value)


@pytest.mark.parametrize("pipeline", [PIPELINE, BACKFILL_PIPELINE], ids=["live", "backfill"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_step_declares_all_that_it_reads(kind: Kind, pipeline: Pipeline) -> None:
    rows = rows_of(kind, [LEAST_ITEM[kind.name]])
    rows.columns = columns = Recorded(rows.columns)
    rows.facts = facts = RecordedFacts()

    for step in pipeline:
        for record in (columns.read, columns.written, facts.read, facts.written):
            record.clear()
        step.run(rows, Lookups())

        from_others = columns.read - columns.written - set(ROW_IDENTITY)
        if step.run is put_identity:  # fills it where the item has none
            from_others |= columns.read & {"anonymous_id"}
        assert {f"columns.{name}" for name in from_others} <= set(step.reads), step.name
        assert facts.read - facts.written <= set(step.reads), step.name
        assert facts.written <= set(step.writes), step.name


@pytest.mark.parametrize(
    ("timestamp", "ms"),
    [
        (None, 0),
        (NOON_MS - 1234, -1234),
        (NOON_MS - 0.75, -1),
        (NOON_MS + 299_999, 299_999),
        (NOON_MS + 300_001, 300_000),
        (NOON_MS - 8 * 86_400_000, -7 * 86_400_000),
        (1, -7 * 86_400_000),
        (1e300, 300_000),
        (-(10**400), -7 * 86_400_000),
        ("2026-11-21T11:59:59.5Z", -500),
        ("2026-11-21T12:59:59+01:00", -1000),
        ("2026-11-21T12:00:00.0019", 1),
        ("yesterday", 0),
        ("0001-01-01T00:00:00+23:59", -7 * 86_400_000),
        ("9999-12-31T23:59:59Z", 300_000),
    ],
)
def test_client_time_is_whole_milliseconds_near_the_receipt(timestamp: Any, ms: int) -> None:
    ts, received = facts({"name": "x", "timestamp": timestamp}, "ts", "received_at")

    assert received == NOON
    assert round((ts - NOON).total_seconds() * 1_000_000) == ms * 1000


def test_ids_are_hashed_to_signed_numbers_of_63_bits() -> None:
    # BLAKE2b of "a" with 8 bytes is 40f89e395b66422f
    assert facts({"name": "x", "anonymousId": "a"}, "visitor_hash", "session_hash") == (
        0x40F89E395B66422F >> 1,
        None,
    )
    assert all(0 <= (optional_hash63(str(n)) or 0) < 2**63 for n in range(1000))


def test_a_click_belongs_to_its_link() -> None:
    item = {"slug": "abc", "referrer": "https://news.ycombinator.com/item?id=1", "anonymousId": "v"}

    found = row(item, CLICK, subject_id="l1")

    assert [
        found[c] for c in ("link_id", "organization_id", "slug", "referrer_name", "channel")
    ] == [
        "l1",
        "o1",
        "abc",
        "Hacker News",
        "Organic Social",
    ]


def test_an_error_is_of_level_error_unless_it_says_otherwise() -> None:
    assert facts({"message": "m"}, "level", kind=ERROR_REPORT) == ("error",)
    assert facts({"message": "m", "level": "warning"}, "level", kind=ERROR_REPORT) == ("warning",)


def test_a_website_named_by_an_item_does_not_replace_the_envelopes() -> None:
    assert facts({"name": "x", "websiteId": "other"}, "website_id") == ("w1",)


def test_timings_of_a_page_view_are_carried_over_in_milliseconds() -> None:
    timings = {
        "load_time": 1200,
        "dom_ready_time": 800,
        "dom_interactive": 700,
        "ttfb": 90,
        "request_time": 40,
        "render_time": 60_000,
    }
    told = {**timings, "interaction_count": 3, "page_count": 2, "connection_type": "4g"}

    found = row({"name": "screen_view", "path": "/", **told})

    assert {name: found[name] for name in told} == told


def test_a_vital_is_kept_to_four_decimals() -> None:
    item = {"path": "/", "metricName": "CLS", "metricValue": 0.12345}

    assert str(row(item, WEB_VITAL)["metric_value"]) == "0.1235"


def test_a_step_that_fails_on_one_row_costs_that_row_only() -> None:
    def fail_on_line_4(rows: Any, lookups: Lookups) -> None:
        if any(item.name == "bad" for item in rows.items):
            raise ValueError("no such thing")

    rows = rows_of(KINDS[0], [{"name": "a"}, {"name": "bad"}, {"name": "c"}])

    rest, refused = enrich_rows(rows, Lookups(), (*PIPELINE, EnrichmentStep(fail_on_line_4)))

    assert rest.columns["name"] == ["a", "c"]
    assert [(q.seq, q.stage.value, q.reason) for q in refused] == [
        (1, "enrich", "ValueError: no such thing")
    ]


def test_a_memo_forgets_rather_than_grows() -> None:
    memo: GenerationalCache[int, int] = GenerationalCache(lambda n: n * n, size=3)

    assert [memo[n] for n in range(5)] == [0, 1, 4, 9, 16]
    assert len(memo) == 2


def test_a_memo_of_longer_texts_forgets_sooner() -> None:
    asked: list[str] = []
    memo: GenerationalCache[str, None] = GenerationalCache(asked.append, size=8)
    texts = [str(number) * 500 for number in range(5)]

    for text in (*texts, texts[0], texts[4]):
        assert memo[text] is None

    assert asked == [*texts, texts[0]]  # 1,024 letters, twice


def test_a_memo_keeps_no_long_texts_among_several() -> None:
    memo: GenerationalCache[tuple[str | None, ...], int] = GenerationalCache(len)
    usual, long = ("a" * 500, None, "b" * 500), ("a" * 500, None, "b" * 600)

    assert [memo[usual], memo[long]] == [3, 3]
    assert list(memo) == [usual]


def test_a_memo_keeps_no_long_texts() -> None:
    memo: GenerationalCache[str, int] = GenerationalCache(len)

    assert [memo["a" * 512], memo["a" * 513]] == [512, 513]
    assert list(memo) == ["a" * 512]


def test_a_memo_keeps_what_is_still_asked_for() -> None:
    asked: list[int] = []
    memo: GenerationalCache[int, None] = GenerationalCache(asked.append, size=3)

    for number in (0, 1, 2, 3, 0, 4, 5, 0, 6):
        assert memo[number] is None

    assert asked == [0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("fields", "forms", "abandoned"),
    [(2, None, True), (2, 0, True), (2, 1, False), (0, 0, False), (None, None, False)],
)
def test_a_form_is_left_behind_when_it_was_begun_and_not_sent(
    fields: int | None, forms: int | None, abandoned: bool
) -> None:
    item = {"path": "/join", "formFieldCount": fields, "formSubmitCount": forms}

    assert facts(item, "form_abandoned", kind=PAGE_ENGAGEMENT) == (abandoned,)


@pytest.mark.parametrize(
    ("traits", "text"), [({"plan": "pro"}, '{"plan":"pro"}'), ({}, "{}"), (None, None)]
)
def test_traits_are_kept_as_text(traits: object, text: str | None) -> None:
    item = {"profileId": "p1", "traits": traits}

    assert facts(item, "profile_id", "traits", kind=VISITOR_IDENTITY) == ("p1", text)


@pytest.mark.parametrize(
    ("item", "click_id"),
    [
        ({"path": "https://a.example/?fbclid=x"}, "fbclid"),
        ({"path": "https://a.example/?fbclid=x", "clickId": "gclid"}, "gclid"),
        ({"path": "https://a.example/", "clickId": "gclid"}, "gclid"),
    ],
)
def test_a_click_id_that_the_tracker_names_comes_first(item: dict[str, Any], click_id: str) -> None:
    assert facts(VIEW | item, "click_id") == (click_id,)


def test_url_parts_are_cut_by_hand() -> None:
    assert normal_path("//a//b//") == "/a//b"
    assert query_parameters("A=1&a=2&b=&=3&c") == {"a": "1"}
    assert (split_url("mailto:x@y.example").host, split_url("").path) == ("", "")


@pytest.mark.parametrize(
    "kind", [k for k in KINDS if k.table.column("trusted")], ids=lambda kind: kind.name
)
def test_a_row_says_whether_a_key_came_with_it(kind: Kind) -> None:
    item = {"name": "x"} if kind.name == "custom_event" else {"profileId": "p1"}

    assert facts(item, "trusted", kind=kind) == (False,)
    assert facts(item, "trusted", kind=kind, trusted=True) == (True,)
