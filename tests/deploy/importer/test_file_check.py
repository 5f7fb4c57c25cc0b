"""Files and mappings that are rejected before anything is sent."""

from pathlib import Path

import pytest

from deploy.importer.column_mapping import ColumnMapper, InvalidMapping
from deploy.importer.csv_rows import InvalidFile
from deploy.importer.file_check import check_file
from deploy.importer.formats.cell_values import InvalidLine
from deploy.importer.source_file import SourceFile
from tests.deploy.importer.builders import a_file, imported


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("ts\n1\n", {"ts": "colour"}, "'colour' is not a field"),
        ("ts,b\n1,2\n", {"a": "name"}, "the file has no column 'a'; it has ts, b$"),
        (
            "a,b\n1,2\n",
            {},
            "^no column is recognized; the file has the columns a, b; known names are ",
        ),
        ("url,b\n1,2\n", {}, "^no column contains the time; the file has the columns url, b; "),
    ],
)
def test_a_mapping_without_what_an_event_needs_is_refused(
    tmp_path: Path, text: str, columns: dict[str, str], message: str
) -> None:
    with pytest.raises(InvalidMapping, match=message):
        check_file(a_file(tmp_path, text), ColumnMapper(columns))


@pytest.mark.parametrize(
    ("text", "format_", "message"),
    [
        ("", None, "^visits contains no events$"),
        ("ts,ts\n1,2\n", None, "the first line must be a header"),
        ("ts,name\n", None, "visits contains no events"),
        ("\n\n", "ndjson", "visits contains no events"),
        ("ts,name\n1,a\n", "ndjson", "visits cannot be read as NDJSON: line 1: not a JSON object"),
        ("ts,name\n1\n", "csv", "visits cannot be read as CSV: line 2: 1 cells under 2 columns"),
        ("{}\n", None, "line 1: an object without fields"),
    ],
)
def test_a_file_of_which_nothing_can_be_taken_is_refused(
    tmp_path: Path, text: str, format_: str | None, message: str
) -> None:
    path = tmp_path / "visits"
    path.write_text(text)

    with pytest.raises(InvalidFile, match=message):
        check_file(SourceFile(path, format_), ColumnMapper({}))


def test_lines_of_json_need_not_all_have_a_column_that_is_named(tmp_path: Path) -> None:
    file, mapper = (
        a_file(tmp_path, '{"ts": 1, "url": "/"}\n{"ts": 2, "url": "/", "who": "a"}\n'),
        ColumnMapper({"who": "eventId"}),
    )

    check_file(file, mapper)

    assert [mapper.event(line.fields) for line in file.lines()] == [
        {"timestamp": 1000, "name": "pageview", "path": "/"},
        {"timestamp": 2000, "name": "pageview", "path": "/", "eventId": "a"},
    ]


@pytest.mark.parametrize(
    ("text", "column"),
    [
        # of no product whose exports are known
        ('{"event_type": "signup", "event_time": "2026-11-01 10:00:00Z"}', "event_type"),
        ('{"type": "identify", "anonymousId": "a", "timestamp": "2026-11-01T10:00:00Z"}', "type"),
        ("timestamp,type,session_id,pathname,event_name\n1,performance,s,/a,\n", "type"),
        ("timestamp,eventType,eventName,path\n1,error,signup,/a\n", "eventType"),
        ("timestamp,interactionKind,path\n1,tap,/a\n", "interactionKind"),
        ("timestamp,hit.type,path\n1,timing,/a\n", "hit.type"),
        ("time,type,path\n1,pageview,/\n2,click,/a\n", "type"),
        ('{"ts": 1}\n{"ts": 2, "event_type": "identify"}', "event_type"),
        ('{"type": "page", "name": "Home", "timestamp": "2026-11-01"}', "type"),
        ('{"type": "track", "timestamp": "2026-11-01"}', "type"),
        ("timestamp,Action,url\n1,click,/a\n", "Action"),
        ("ts,kind,name\n1,session,x\n", "kind"),
    ],
)
def test_a_column_of_kinds_that_is_not_read_is_refused(
    tmp_path: Path, text: str, column: str
) -> None:
    with pytest.raises(InvalidMapping, match=f"the column '{column}' says what each line is"):
        check_file(a_file(tmp_path, text), ColumnMapper({}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "timestamp,url,event_category\n1,/a,video\n",
            "'event_category' .here 'video'",
        ),
        ("timestamp,url,Goal name\n1,/a,\n2,/a,Signup\n", "line 3: the column 'Goal name'"),
        ("timestamp,url,method\n1,/a,GET\n2,/a,POST\n", "'method' .here 'POST'"),
        ("Date,Event,2Path\n2026-11-01,0,/a\n", "'Event' has '0', which is no name"),
        (
            '{"ts": 1, "url": "/", "event": {"name": "a"}}',
            "'event' has .*, and no name",
        ),
        ('{"ts": 1, "url": "/", "type": ["error"]}', "the column 'type' says what each line is"),
        ("timestamp,browser\n1,Firefox\n", "neither the name of an event nor a page"),
        (
            '{"timestamp": 1, "path": "/a", "level": "error", "message": "x"}',
            "'level' .here 'error'. is not read, and the line would become a page view. .* --map",
        ),
        ('{"timestamp": 1, "path": "/a", "metric": "LCP", "value": 3}', "'metric' .here 'LCP'"),
        (
            "timestamp,path,record\n1,/a,pageview\n2,/a,heartbeat\n3,/a,web_vital\n",
            "line 3: the column 'record' .here 'heartbeat'",
        ),
        ("timestamp,path,what\n1,/a,Web Vitals\n", "'what' says what each line is"),
        (
            "timestamp,path,what\n1,/a,pageview\n2,/a,tap\n",
            "'what' says what each line is .here 'tap'.*--map what=name",
        ),
        ("timestamp,event,path\n1,identify,/a\n", "no line .* 'identify' is sent by the libraries"),
    ],
)
def test_lines_that_would_become_page_views_without_being_any_are_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(InvalidMapping, match=message):
        check_file(a_file(tmp_path, text), ColumnMapper({}))


def test_columns_of_facts_are_no_kinds(tmp_path: Path) -> None:
    text = (
        "ts,url,device_type,pageType,event_date,event_id,is_goal\n1,/,desktop,blog,20261101,7,0\n"
    )

    check_file(a_file(tmp_path, text), ColumnMapper({}))


def test_a_column_of_kinds_is_harmless_where_it_is_mapped_or_says_what_lines_become(
    tmp_path: Path,
) -> None:
    text = "ts,type,path\n1,pageview,/\n2,,/a\n3,Page View,/b\n"
    events = "ts,type,event_name,path\n1,pageview,,/\n2,custom_event,signup,/a\n3,page,pageview,\n"

    check_file(a_file(tmp_path, events), ColumnMapper({}))
    check_file(a_file(tmp_path, text), ColumnMapper({}))
    check_file(a_file(tmp_path, text + "4,signup,/c\n"), ColumnMapper({"type": "name"}))


def test_a_line_of_another_kind_after_the_checked_ones_is_no_event() -> None:
    mapper = ColumnMapper({})

    assert mapper.event({"ts": "1", "type": "page"})["name"] == "pageview"
    with pytest.raises(InvalidLine, match="here 'identify'"):
        mapper.event({"ts": "2", "type": "identify"})


def test_events_that_libraries_send_by_themselves_are_lines_that_are_no_events(
    tmp_path: Path,
) -> None:
    names = ("$pageview", "identify", "$web_vitals", "session_start", "signup")
    text = "timestamp,event,path\n" + "".join(f"2026-11-01T10:07:00Z,{n},/a\n" for n in names)

    events = imported(tmp_path, text)

    assert [event.get("name") for event in events] == ["pageview", None, None, None, "signup"]
    assert [event["invalid"].partition(",")[0] for event in events[1:4]] == [
        f"'{name}' is sent by the libraries of a product"
        for name in ("identify", "$web_vitals", "session_start")
    ]
