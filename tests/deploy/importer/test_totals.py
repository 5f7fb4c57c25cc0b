"""Files of totals are refused; files of events with a counting column are not."""

from pathlib import Path

import pytest

from deploy.importer.column_mapping import ColumnMapper, InvalidMapping
from deploy.importer.file_check import check_file
from tests.deploy.importer.builders import a_file

PLAUSIBLE = "date,visitors,pageviews,bounces,visits,visit_duration\n2026-11-01,10,30,3,12,500\n"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (PLAUSIBLE, "Plausible exports no single events"),
        ("date,page,visitors,pageviews\n2026-11-01,/,10,30\n", "Plausible"),
        ("date,name,link_url,path,visitors,events\n2026-11-01,Signup,,,4,5\n", "Plausible"),
        ("name,unique_conversions,total_conversions\nSignup,4,5\n", "unique_conversions"),
        ("# Pages\n\nPage path,Views,Active users\n/,30,4\n", "Google Analytics"),
        ("date,nb_uniq_visitors,nb_visits\n2026-11-01,7,10\n", "Matomo"),
        ("Date,Event name,Event count,Total users\n20261101,page_view,9,4\n", "BigQuery"),
        ("date,url,Page views\n2026-11-01,/,30\n", "Page views"),
        ("event_name,date,count\nsignup,2026-11-01,42\nlogin,2026-11-01,7\n", "count"),
        ("event_name,date,event_count\nsignup,2026-11-01,42\n", "event_count"),
        ('Event,Date,"Total"\nsignup,20261101,"1,042"\n', "Total"),
        ("path,timestamp,n\n/,2026-11-01 10:00:00+05:30,3\n", "n"),
        ('{"date": "2026-11-01", "path": "/", "count": 500}\n', "count"),
        ("date,url,COUNT(*)\n2026-11-01,/,3\n", "COUNT"),
    ],
    ids=[
        *("plausible", "plausible pages", "plausible events", "plausible goals"),
        *("google analytics report", "matomo", "google analytics", "unknown product"),
        *("events by day", "event count", "spreadsheet", "by hour", "json lines", "sql"),
    ],
)
def test_totals_are_refused_by_name(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(InvalidMapping, match=f"the file has totals .*{named}"):
        check_file(a_file(tmp_path, text), ColumnMapper({}))


@pytest.mark.parametrize(
    ("text", "overrides"),
    [
        ("timestamp,event,distinct_id,visits\n2026-11-01T10:00:00Z,signup,u1,3\n", {}),
        ("time,url,page_count\n2026-11-01T10:00:00Z,/,3\n", {}),
        ("time,views\n2026-11-01T10:00:00Z,/a\n", {"views": "path"}),
        ("time,event,total\n2026-11-01T10:00:00Z,buy,3\n2026-11-01T10:07:00Z,buy,4\n", {}),
        ("date,event,total\n2026-11-01,buy,49.90\n2026-11-01,buy,5\n", {}),
        ("date,event,count,visitor_id\n2026-11-01,buy,3,v1\n", {}),
    ],
    ids=[
        *("a fact of the visitor", "a field of events", "mapped by hand"),
        *("a time of day", "an amount", "of a visitor"),
    ],
)
def test_events_are_not_refused(tmp_path: Path, text: str, overrides: dict[str, str]) -> None:
    check_file(a_file(tmp_path, text), ColumnMapper(overrides))
