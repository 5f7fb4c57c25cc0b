"""Import of files: which lines are read, which items are sent, and in which order."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from deploy.cli import main
from deploy.importer.column_mapping import EXPORT_COLUMNS, ColumnMapper, InvalidMapping
from deploy.importer.dry_run import dry_run_sender
from deploy.importer.file_check import check_file
from deploy.importer.import_records import (
    AlreadyImported,
    begin_or_resume,
    exclusive_import,
    save_progress,
    saved_progress,
    temporary_key,
)
from deploy.importer.import_run import ImportProgress, run_import
from deploy.importer.rejects_file import RejectedLine, RejectsFile
from deploy.importer.sender import MAX_ITEMS, CollectorReply, ItemRejection
from deploy.importer.source_file import FileLine, InvalidFile, SourceFile
from query.formats.columns import ColumnKind, ResultColumn
from query.formats.csv_ndjson import CsvWriter
from schemas.kinds import IMPORTED_EVENT
from schemas.registry import Import, ImportState, Key, Organization, RegistryStore, Website
from schemas.registry.migrate import migrate
from schemas.runtime.settings import Settings

NOW = 1_795_262_400_000
STAMPS: dict[str, Any] = {"created_at": NOW, "updated_at": NOW}
WEBSITE = Website(id="w1", organization_id="o1", domain="a.example", **STAMPS)


def a_file(folder: Path, text: str, name: str = "visits") -> SourceFile:
    path = folder / name
    path.write_bytes(text.encode())
    return SourceFile(path)


def test_texts_that_an_export_kept_from_being_formulas_are_read_as_they_were(
    tmp_path: Path,
) -> None:
    names = ["=1+1", "'=1+1", "'", "'tis", "-1", "plain"]
    columns = [ResultColumn(name, ColumnKind.TEXT) for name in (*sorted(EXPORT_COLUMNS), "name")]
    writer = CsvWriter(columns)
    body = writer.start() + writer.rows([["", "", "", name] for name in names])

    exported = a_file(tmp_path, body.decode())
    foreign = a_file(tmp_path, "name,ts\r\n'=1,2\r\n", "foreign")

    assert [line.fields["name"] for line in exported.lines()] == names
    assert [line.fields["name"] for line in foreign.lines()] == ["'=1"]


def test_csv_is_read_with_quotes_and_lines_within_cells(tmp_path: Path) -> None:
    found = a_file(tmp_path, '\ufeffts;name\n1;"a;\nb"\n\n2\n3;c\n')

    assert (found.format, list(found.lines())) == (
        "csv",
        [
            FileLine(3, {"ts": "1", "name": "a;\nb"}),
            FileLine(5, text="2", reason="1 cells under 2 columns"),
            FileLine(6, {"ts": "3", "name": "c"}),
        ],
    )
    assert found.fraction_read == 1.0


def test_ndjson_is_read_packed_too(tmp_path: Path) -> None:
    path = tmp_path / "visits.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n\n[2]\n{"a":\n{"a": 3}'))

    found = list(SourceFile(path).lines())

    assert [(line.number, line.fields) for line in found] == [
        (1, {"a": 1}), (3, {}), (4, {}), (5, {"a": 3}),
    ]  # fmt: skip
    assert all(line.reason.startswith("not a JSON object: ") for line in found[1:3])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (gzip.compress(b'{"a": 1}\n' * 9, mtime=0)[:-9], "cannot be read further"),
        (b'{"a": "\xff"}\n', "cannot be read further"),
        (b"a,b,a\n1,2,3\n", "must be a header with unique column names"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "visits"
    path.write_bytes(content)

    with pytest.raises(InvalidFile, match=said):
        list(SourceFile(path).lines())


def test_the_same_file_is_known_again_by_any_name(tmp_path: Path) -> None:
    first = a_file(tmp_path, "ts\n1\n", "a.csv")
    again = a_file(tmp_path, "ts\n1\n", "b.csv")
    other = a_file(tmp_path, "ts\n2\n", "c.csv")

    assert first.fingerprint == again.fingerprint != other.fingerprint


EVENTS = {
    "ours": (
        {
            "ts": "2026-11-01T10:00:00.000Z", "received_at": "x", "event_id": "e1",
            "anonymous_id": "a1", "session_id": "s1", "name": "screen_view",
            "properties": '{"plan":"pro"}', "host": "shop.example", "path": "/100% ä?",
            "referrer": "Direct", "referrer_name": "Direct", "channel": "paid",
            "click_id": "gclid", "outbound_domain": "", "browser_name": "Arc", "country": "AT",
            "is_bot": "false", "time_on_page": "1.5", "load_time": "12",
        },
        {
            "timestamp": "2026-11-01T10:00:00.000Z", "name": "screen_view", "eventId": "e1",
            "anonymousId": "a1", "sessionId": "s1", "properties": {"plan": "pro"},
            "path": "https://shop.example/100%25%20%C3%A4%3F", "clickId": "gclid",
            "browser_name": "Arc", "country": "AT", "is_bot": False, "time_on_page": 1.5,
            "load_time": 12,
        },
    ),
    "umami": (
        {
            "website_id": "x", "session_id": "visitor", "visit_id": "visit", "event_id": "e1",
            "hostname": "a.example", "browser": "chrome", "os": "Mac OS", "device": "laptop",
            "screen": "1920x1080", "language": "en-US", "country": "GB", "subdivision1": "ENG",
            "url_path": "/p", "url_query": "utm_source=x", "referrer_path": "/r",
            "referrer_domain": "b.example", "page_title": "T", "event_name": "",
            "created_at": "2024-05-01 10:00:00",
        },
        {
            "timestamp": "2024-05-01 10:00:00", "eventId": "e1", "anonymousId": "visitor",
            "sessionId": "visit", "path": "https://a.example/p?utm_source=x", "title": "T",
            "referrer": "https://b.example/r", "browser_name": "chrome", "os_name": "Mac OS",
            "device_type": "desktop", "country": "GB", "region": "ENG", "language": "en-US",
            "screen_resolution": "1920x1080", "name": "pageview",
        },
    ),
    "plausible": (
        {
            "timestamp": "2024-05-01 10:00:00", "name": "pageview", "user_id": "7",
            "session_id": "8", "hostname": "a.example", "pathname": "/p", "referrer": "",
            "screen_size": "Mobile", "operating_system": "iOS", "browser": "Safari",
            "country_code": "de", "utm_source": "x",
        },
        {
            "timestamp": "2024-05-01 10:00:00", "name": "pageview", "anonymousId": "7",
            "sessionId": "8", "path": "https://a.example/p", "device_type": "mobile",
            "os_name": "iOS", "browser_name": "Safari", "country": "DE", "utm_source": "x",
        },
    ),
    "analytics of four": (
        {
            "event_timestamp": "1714557600123456", "event_name": "page_view",
            "user_pseudo_id": "1.2", "ga_session_id": "3", "page_location": "https://a.example/p?x",
            "page_title": "T", "page_referrer": "https://b.example/", "geo_country": "Germany",
            "device_category": "smart tv", "geo_city": "(not set)",
        },
        {
            "timestamp": 1_714_557_600_123, "name": "pageview", "anonymousId": "1.2",
            "sessionId": "3", "path": "https://a.example/p?x", "title": "T",
            "referrer": "https://b.example/", "country": "DE", "device_type": "tv",
        },
    ),
    "seconds": ({"time": "1714557600", "url": "/p"},
                {"timestamp": 1_714_557_600_000, "path": "/p", "name": "pageview"}),
}  # fmt: skip


@pytest.mark.parametrize("name", EVENTS)
def test_columns_of_many_programs_are_known(name: str) -> None:
    fields, event = EVENTS[name]

    assert ColumnMapper({}).event(fields) == event


@pytest.mark.parametrize("name", EVENTS)
def test_every_event_that_is_made_is_one_that_the_collector_takes(name: str) -> None:
    event = ColumnMapper({}).event(EVENTS[name][0])

    assert dry_run_sender(WEBSITE)([msgspec.json.encode(event)]) == CollectorReply(1)
    msgspec.json.decode(msgspec.json.encode(event), type=IMPORTED_EVENT.item)


def test_a_column_may_be_said_to_be_a_field() -> None:
    mapper = ColumnMapper({"who": "anonymousId", "when": "timestamp"})

    event = mapper.event({"who": "a", "user_id": "b", "when": "1714557600000", "x": 1})

    assert event == {"anonymousId": "a", "timestamp": 1_714_557_600_000, "name": "pageview"}
    assert mapper.ignored == {"user_id", "x"}


@pytest.mark.parametrize(
    ("text", "given", "said"),
    [
        ("ts\n1\n", {"ts": "colour"}, "'colour' is not a field"),
        ("ts,b\n1,2\n", {"a": "name"}, "the file has no column 'a'; it has ts, b$"),
        (
            "a,b\n1,2\n",
            {},
            "^no column is recognised; the file has the columns a, b; known names are ",
        ),
        ("url,b\n1,2\n", {}, "^no column contains the time; the file has the columns url, b; "),
    ],
)
def test_a_mapping_without_what_an_event_needs_is_refused(
    tmp_path: Path, text: str, given: dict[str, str], said: str
) -> None:
    with pytest.raises(InvalidMapping, match=said):
        check_file(a_file(tmp_path, text), ColumnMapper(given))


@pytest.mark.parametrize(
    ("text", "format_", "said"),
    [
        ("", None, "^visits contains no events$"),
        ("\n1\n", None, "the first line must be a header"),
        ("ts,name\n", None, "visits contains no events"),
        ("\n\n", "ndjson", "visits contains no events"),
        ("ts,name\n1,a\n", "ndjson", "visits cannot be read as NDJSON: line 1: not a JSON object"),
        ("ts,name\n1\n", "csv", "visits cannot be read as CSV: line 2: 1 cells under 2 columns"),
        ("{}\n", None, "line 1: an object without fields"),
    ],
)
def test_a_file_of_which_nothing_can_be_taken_is_refused(
    tmp_path: Path, text: str, format_: str | None, said: str
) -> None:
    path = tmp_path / "visits"
    path.write_text(text)

    with pytest.raises(InvalidFile, match=said):
        check_file(SourceFile(path, format_), ColumnMapper({}))


def test_lines_of_json_need_not_all_have_a_column_that_is_named(tmp_path: Path) -> None:
    file, mapper = (
        a_file(tmp_path, '{"ts": 1}\n{"ts": 2, "who": "a"}\n'),
        ColumnMapper({"who": "eventId"}),
    )

    check_file(file, mapper)

    assert [mapper.event(line.fields) for line in file.lines()] == [
        {"timestamp": 1000, "name": "pageview"},
        {"timestamp": 2000, "name": "pageview", "eventId": "a"},
    ]


def test_a_fact_that_says_nothing_is_left_out_and_counted() -> None:
    mapper = ColumnMapper({})
    for device in ("console", "tablet", "car"):
        mapper.event({"device": device, "country": "Atlantis", "is_bot": "maybe"})

    assert mapper.skipped_values == {"device_type": 2, "country": 3, "is_bot": 3}


def lines(count: int) -> str:
    return "".join(f'{{"ts": {1000 + n}, "name": "e{n}"}}\n' for n in range(1, count + 1))


class Collector:
    """Accepts all items except the refused names; may become unavailable."""

    def __init__(self, refused: Sequence[str] = (), gone_after: int = 99) -> None:
        self.names: list[str] = []
        self._refused = refused
        self._left = gone_after

    def __call__(self, items: list[bytes]) -> CollectorReply:
        if not self._left:
            raise ConnectionError
        self._left -= 1
        decoded = [msgspec.json.decode(item) for item in items]
        bad = [
            ItemRejection(i, "no")
            for i, item in enumerate(decoded)
            if item["name"] in self._refused
        ]
        assert [item["line"] for item in decoded] == [int(i["name"][1:]) for i in decoded]
        self.names += [item["name"] for item in decoded if item["name"] not in self._refused]
        return CollectorReply(len(items) - len(bad), bad)


def test_requests_are_full_and_in_order_and_go_on_where_they_stopped(tmp_path: Path) -> None:
    file = a_file(tmp_path, lines(2 * MAX_ITEMS + 7))
    sending = run_import(
        file, ColumnMapper({}), ImportProgress(), Collector(gone_after=2), RejectsFile(None)
    )

    at = [next(sending), next(sending)][-1]
    with pytest.raises(ConnectionError):
        next(sending)
    assert at == ImportProgress(2 * MAX_ITEMS, 2 * MAX_ITEMS, 0)
    *_, at = run_import(file, ColumnMapper({}), at, another := Collector(), RejectsFile(None))

    assert at == ImportProgress(2 * MAX_ITEMS + 7, 2 * MAX_ITEMS + 7, 0)
    assert another.names == [f"e{n}" for n in range(2 * MAX_ITEMS + 1, 2 * MAX_ITEMS + 8)]


def test_what_is_refused_is_written_down_with_line_and_reason(tmp_path: Path) -> None:
    file = a_file(tmp_path, lines(2) + "broken\n" + '{"ts": 1004, "name": "e4"}\n')
    rejects = RejectsFile(tmp_path / "rejects")

    *_, at = run_import(file, ColumnMapper({}), ImportProgress(), Collector(["e2"]), rejects)
    rejects.close()

    written = [json.loads(line) for line in (tmp_path / "rejects").read_text().splitlines()]
    assert at == ImportProgress(4, 2, 2)
    assert [(each["line"], each["content"]) for each in written] == [
        (2, {"ts": 1002, "name": "e2"}), (3, "broken"),
    ]  # fmt: skip
    assert written[0]["reason"] == "no"


def test_a_time_that_cannot_be_read_is_named_with_the_forms_that_can(tmp_path: Path) -> None:
    file = a_file(tmp_path, "ts,name\n05/06/2026,e2\n1003,e3\n")
    rejects = RejectsFile(tmp_path / "rejects")

    *_, at = run_import(file, ColumnMapper({}), ImportProgress(), Collector(), rejects)
    rejects.close()

    assert at == ImportProgress(3, 1, 1)
    assert json.loads((tmp_path / "rejects").read_text()) == {
        "line": 2,
        "reason": "the time '05/06/2026' cannot be read; write ISO 8601 like 2026-06-05T10:00:00Z, "
        "or Unix seconds, milliseconds or microseconds",
        "content": {"ts": "05/06/2026", "name": "e2"},
    }


def test_rejects_are_in_the_order_of_lines_of_one_run_or_of_those_that_go_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "rejects"

    def written(since: int, *numbers: int) -> list[int]:
        rejects = RejectsFile(path, since)
        rejects.write([RejectedLine(number, "no", "") for number in numbers])
        rejects.close()
        return [json.loads(line)["line"] for line in path.read_text().splitlines()]

    assert written(0, 3, 2, 5) == [2, 3, 5]
    with path.open("a") as file:
        file.write('{"line": 6, "rea')  # cut off by a kill
    assert written(3, 4, 7) == [2, 3, 4, 7]
    assert written(0, 1) == [1]
    RejectsFile(path).close()
    assert not path.exists()


def test_a_large_item_goes_alone_rather_than_beyond_the_limit(tmp_path: Path) -> None:
    text = json.dumps({"ts": 1001, "name": "e1", "properties": {"x": "y" * 600_000}})
    file = a_file(tmp_path, f"{text}\n{text.replace('e1', 'e2')}\n")
    sizes: list[int] = []

    def send(items: list[bytes]) -> CollectorReply:
        sizes.append(len(items))
        return CollectorReply(len(items))

    list(run_import(file, ColumnMapper({}), ImportProgress(), send, RejectsFile(None)))

    assert sizes == [1, 1]


@pytest.fixture
def store(tmp_path: Path) -> RegistryStore:
    url = Settings(data_dir=str(tmp_path)).registry_url
    migrate(url)
    store = RegistryStore(url)
    store.create(Organization(id="o1", name="Acme", **STAMPS))
    store.create(WEBSITE)
    return store


def test_an_import_that_was_not_finished_goes_on_and_a_finished_one_is_refused(
    tmp_path: Path, store: RegistryStore
) -> None:
    file = a_file(tmp_path, lines(1))
    first = begin_or_resume(store, WEBSITE, file, again=False)
    save_progress(store, first, ImportProgress(7, 5, 1))

    found = begin_or_resume(store, WEBSITE, file, again=False)
    assert (found.id, saved_progress(found)) == (first.id, ImportProgress(7, 5, 1))

    store.update(Import, first.id, NOW, state=ImportState.DONE)
    with pytest.raises(AlreadyImported, match=f"was imported as {first.id}"):
        begin_or_resume(store, WEBSITE, file, again=False)
    assert begin_or_resume(store, WEBSITE, file, again=True).id != first.id


def test_an_import_that_was_undone_may_begin_anew(tmp_path: Path, store: RegistryStore) -> None:
    file = a_file(tmp_path, lines(1))
    first = begin_or_resume(store, WEBSITE, file, again=False)
    store.update(Import, first.id, NOW, state=ImportState.UNDONE)

    assert begin_or_resume(store, WEBSITE, file, again=False).id != first.id


def test_notes_of_progress_do_not_make_the_services_read_the_registry(
    tmp_path: Path, store: RegistryStore
) -> None:
    one = begin_or_resume(store, WEBSITE, a_file(tmp_path, lines(1)), again=False)
    before = store.read_version()

    save_progress(store, one, ImportProgress(2, 1, 0))

    assert (store.read_version(), store.get(Import, one.id).accepted) == (before, 1)


def test_an_import_has_a_key_while_it_is_sent(tmp_path: Path, store: RegistryStore) -> None:
    one = begin_or_resume(store, WEBSITE, a_file(tmp_path, lines(1)), again=False)

    with temporary_key(store, one):
        (key,) = store.list(Key)
        assert (key.scopes, key.website_id) == (("track:events",), "w1")
    assert store.list(Key) == []


def test_two_processes_do_not_send_the_same_import(tmp_path: Path, store: RegistryStore) -> None:
    settings = Settings(data_dir=str(tmp_path))
    one = begin_or_resume(store, WEBSITE, a_file(tmp_path, lines(1)), again=False)

    with (
        exclusive_import(settings, one),
        pytest.raises(AlreadyImported),
        exclusive_import(settings, one),
    ):
        pass


def test_a_dry_run_judges_and_makes_nothing(
    tmp_path: Path,
    store: RegistryStore,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("date,colour,device\n2019-03-01,red,car\n2199-01-01,red,tv\n,red,tv\n")
    monkeypatch.setenv("TIDEMARK_DATA_DIR", str(tmp_path))

    main(["import", "--website", "w1", "--dry-run", "--json", str(path)])

    assert json.loads(capsys.readouterr().out) == {
        "accepted": 1,
        "rejected": 2,
        "rejects": f"{path}.rejects.ndjson",
        "ignoredColumns": ["colour"],
        "factsLeftOut": {"device_type": 1},
    }
    assert store.list(Import) == []
