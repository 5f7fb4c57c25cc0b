"""Reports of other products become totals by day and dimension; all numbers are worked out here."""

import zipfile
from pathlib import Path
from typing import Any

import pytest

from deploy.importer.column_mapping import InvalidMapping
from deploy.importer.source_file import SourceFile
from deploy.importer.totals_file import Totals, read_totals, with_owner
from schemas.tables import IMPORTED_TOTALS
from schemas.tables.imported_totals import TOTALS_DIMENSIONS
from tests.deploy.importer.builders import NOW, a_file

COUNTS = ("visitors", "visits", "page_views", "bounces", "visit_seconds", "events")

PLAUSIBLE = {
    "imported_visitors": (
        '"date","visitors","pageviews","bounces","visits","visit_duration"\n'
        '"2026-11-01",10,25,4,12,600\n"2026-11-02",8,20,3,9,450\n'
    ),
    "imported_sources": (
        "date,source,referrer,utm_source,utm_medium,utm_campaign,utm_content,utm_term,"
        "pageviews,visitors,visits,visit_duration,bounces\n"
        "2026-11-01,Google,google.com,,,,,,10,4,5,300,1\n"
        "2026-11-01,,,,,,,,9,3,4,200,2\n"
        "2026-11-01,,,letter,email,nov,,,6,3,3,100,1\n"
    ),
    "imported_pages": (
        "date,hostname,page,visits,visitors,pageviews,total_scroll_depth,total_scroll_depth_visits\n"
        "2026-11-01,shop.example,/,9,8,15,400,9\n2026-11-01,shop.example,/a/,6,5,10,\\N,\\N\n"
    ),
    "imported_entry_pages": (
        "date,entry_page,visitors,entrances,visit_duration,bounces,pageviews\n"
        "2026-11-01,/,8,9,500,3,20\n2026-11-01,/a,2,3,100,1,5\n"
    ),
    "imported_exit_pages": (
        "date,exit_page,visitors,visit_duration,exits,bounces,pageviews\n"
        "2026-11-01,/,6,300,7,3,12\n"
    ),
    "imported_custom_events": (
        "date,name,link_url,path,visitors,events\n"
        "2026-11-01,Signup,,/a,2,3\n2026-11-01,Signup,,/b,1,1\n"
        "2026-11-01,Outbound Link: Click,https://x.example,,4,6\n"
    ),
    "imported_locations": (
        "date,country,region,city,visitors,visits,visit_duration,bounces,pageviews\n"
        "2026-11-01,DE,DE-BE,2950159,7,8,400,3,17\n2026-11-01,FR,,0,3,4,200,1,8\n"
    ),
    "imported_devices": (
        "date,device,visitors,visits,visit_duration,bounces,pageviews\n"
        "2026-11-01,Desktop,6,8,400,3,16\n2026-11-01,Mobile,4,4,200,1,9\n"
    ),
    "imported_browsers": (
        "date,browser,browser_version,visitors,visits,visit_duration,bounces,pageviews\n"
        "2026-11-01,Chrome,141.0,6,7,300,2,14\n2026-11-01,Chrome,140.0,2,3,200,1,8\n"
        "2026-11-01,Mobile App,,2,2,100,1,3\n"
    ),
    "imported_operating_systems": (
        "date,operating_system,operating_system_version,visitors,visits,visit_duration,bounces,"
        "pageviews\n2026-11-01,Mac,15.6,10,12,600,4,25\n"
    ),
}


def totals_in(folder: Path, text: str) -> Totals:
    found = read_totals(a_file(folder, text))
    assert found is not None
    return found


def rows(found: Totals) -> list[tuple[Any, ...]]:
    """Day, dimension, value and counts of each row."""
    return [
        (
            row["ts"].date().isoformat()[8:],
            row["dimension"],
            row["value"],
            *(row[name] for name in COUNTS),
        )
        for row in found.rows.to_pylist()
    ]


def by_name(found: Totals, *counts: str) -> dict[str, dict[str | None, tuple[Any, ...]]]:
    """These counts of the first day by value, by dimension."""
    result: dict[str, dict[str | None, tuple[Any, ...]]] = {}
    for row in found.rows.to_pylist():
        assert row["ts"].date().isoformat() == "2026-11-01"
        result.setdefault(row["dimension"], {})[row["value"]] = tuple(row[c] for c in counts)
    return result


def test_plausibles_visitors_are_those_of_the_whole_website(tmp_path: Path) -> None:
    found = totals_in(tmp_path, PLAUSIBLE["imported_visitors"])

    assert (found.report.product, found.lines, found.rejects) == ("Plausible", 2, [])
    assert rows(found) == [
        ("01", "", None, 10, 12, 25, 4, 600, None),
        ("02", "", None, 8, 9, 20, 3, 450, None),
    ]


def test_plausibles_sources_are_added_up_by_each_dimension(tmp_path: Path) -> None:
    found = by_name(totals_in(tmp_path, PLAUSIBLE["imported_sources"]), "visits", "page_views")

    assert found == {
        "referrer_name": {"Google": (5, 10), "Direct": (7, 15)},
        "referrer": {"https://google.com": (5, 10), "Direct": (7, 15)},
        "utm_source": {"letter": (3, 6), None: (9, 19)},
        "utm_medium": {"email": (3, 6), None: (9, 19)},
        "utm_campaign": {"nov": (3, 6), None: (9, 19)},
        "utm_content": {None: (12, 25)},
        "utm_term": {None: (12, 25)},
    }


@pytest.mark.parametrize(
    ("name", "counts", "expected"),
    [
        (
            "imported_pages",
            ("visitors", "visits", "page_views"),
            {
                "host": {"shop.example": (None, None, 25)},
                "path": {"/": (8, 9, 15), "/a": (5, 6, 10)},
            },
        ),
        (
            "imported_entry_pages",
            ("visits", "bounces", "visit_seconds"),
            {"entry_page": {"/": (9, 3, 500), "/a": (3, 1, 100)}},
        ),
        ("imported_exit_pages", ("visitors", "visits"), {"exit_page": {"/": (6, 7)}}),
        (
            "imported_custom_events",
            ("visitors", "visits", "events"),
            {"name": {"Signup": (3, None, 4), "Outbound Link: Click": (4, None, 6)}},
        ),
        (
            "imported_locations",
            ("visitors", "visits"),
            {
                "country": {"DE": (7, 8), "FR": (3, 4)},
                "region": {"DE-BE": (7, 8), None: (3, 4)},
                "city": {None: (3, 4)},
            },
        ),
        (
            "imported_devices",
            ("visits", "page_views"),
            {"device_type": {"desktop": (8, 16), "mobile": (4, 9)}},
        ),
        (
            "imported_browsers",
            ("visits", "bounces"),
            {
                "browser_name": {"Chrome": (10, 3), "Mobile App": (2, 1)},
                "browser_version": {"141": (7, 2), "140": (3, 1), None: (2, 1)},
            },
        ),
        (
            "imported_operating_systems",
            ("visits",),
            {"os_name": {"macOS": (12,)}, "os_version": {"15.6": (12,)}},
        ),
    ],
)
def test_each_file_of_plausible_has_its_dimensions(
    tmp_path: Path, name: str, counts: tuple[str, ...], expected: object
) -> None:
    assert by_name(totals_in(tmp_path, PLAUSIBLE[name]), *counts) == expected


def test_plausibles_zip_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "shop_example_20261103.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in PLAUSIBLE.items():
            archive.writestr(f"{name}_20261101_20261102.csv", text)
        archive.writestr("imported_empty_20261101_20261102.csv", "date,visitors,pageviews\n")

    found = read_totals(SourceFile(path))

    assert found is not None
    assert found.lines == 21
    assert {row["dimension"] for row in found.rows.to_pylist()} == {
        *("", "referrer_name", "referrer", "utm_source", "utm_medium", "utm_campaign"),
        *("utm_content", "utm_term", "host", "path", "entry_page", "exit_page", "name"),
        *("country", "region", "city", "device_type", "browser_name", "browser_version"),
        *("os_name", "os_version"),
    }
    assert found.left_out == {"city": 1}


FATHOM = (
    "datetime,hostname,pathname,referrer_hostname,referrer_pathname,utm_source,country_code,state,"
    "city,device_type,browser,operating_system,pageviews,uniques,visits,avg_duration,bounce_rate\n"
    "2026-11-01 09:00:00,https://shop.example,/,https://www.google.com,/,,DE,Berlin,Berlin,Desktop,"
    "Chrome,Windows,3,2,2,10,0.5\n"
    "2026-11-01 10:00:00,https://shop.example,/,,,letter,DE,Berlin,Berlin,Desktop,Chrome,"
    "Mac OS X,2,1,1,20,1\n"
    "2026-11-01 10:00:00,https://shop.example,/a,,,,FR,,,Phone,Safari,iOS,4,3,0,5,0\n"
)


def test_fathoms_lines_add_up_to_the_website(tmp_path: Path) -> None:
    """`visits` counts visitors of the website, `uniques` those of a page."""
    found = totals_in(tmp_path, FATHOM)

    assert found.report.product == "Fathom"
    assert by_name(found, "visitors", "visits", "page_views") == {
        "": {None: (3, None, 9)},
        "host": {"shop.example": (3, None, 9)},
        "path": {"/": (3, None, 5), "/a": (3, None, 4)},
        "referrer_name": {"Google": (2, None, 3), "Direct": (1, None, 6)},
        "utm_source": {"letter": (1, None, 2), None: (2, None, 7)},
        "country": {"DE": (3, None, 5), "FR": (0, None, 4)},
        "region": {"Berlin": (3, None, 5), None: (0, None, 4)},
        "city": {"Berlin": (3, None, 5), None: (0, None, 4)},
        "device_type": {"desktop": (3, None, 5), "mobile": (0, None, 4)},
        "browser_name": {"Chrome": (3, None, 5), "Safari": (0, None, 4)},
        "os_name": {"Windows": (2, None, 3), "macOS": (1, None, 2), "iOS": (0, None, 4)},
    }


def test_a_ga4_report_counts_days_from_the_start_date_of_its_comments(tmp_path: Path) -> None:
    text = (
        "# ----------------------------------------\n# Acme\n# Account: Acme\n"
        "# Start date: 20261101\n# End date: 20261102\n"
        "# ----------------------------------------\n\n"
        "Nth day,Active users,Sessions,Engaged sessions,Average session duration,Views\n"
        '0000,"1,210",1500,1100,62.5,4000\n0001,900,1000,800,60,2500\n,2110,2500,1900,61,6500\n'
    )

    found = totals_in(tmp_path, text)

    assert found.report.product == "Google Analytics"
    assert rows(found) == [
        ("01", "", None, 1210, 1500, 4000, 400, 93_750, None),
        ("02", "", None, 900, 1000, 2500, 200, 60_000, None),
    ]
    assert [(r.line, r.reason) for r in found.rejects] == [
        (11, "the line has no day: it is the sum of others")
    ]


def test_a_ga4_report_is_split_by_source_and_medium(tmp_path: Path) -> None:
    text = (
        "Date,Session source / medium,Total users,Sessions\n"
        "20261101,google / organic,40,50\n20261101,(direct) / (none),20,25\n"
        "20261101,letter / email,5,6\n"
    )

    assert by_name(totals_in(tmp_path, text), "visitors", "visits") == {
        "referrer_name": {"Google": (40, 50), "Direct": (20, 25), "letter": (5, 6)},
        "utm_medium": {"email": (5, 6), None: (60, 75)},
    }


def test_events_of_ga4_are_counted_by_name(tmp_path: Path) -> None:
    text = "Date,Event name,Event count,Total users\n20261101,sign_up,9,4\n"

    assert rows(totals_in(tmp_path, text)) == [
        ("01", "name", "sign_up", None, None, None, None, None, 9)
    ]


def test_a_report_of_universal_analytics_has_days_in_the_order_of_its_time_range(
    tmp_path: Path,
) -> None:
    """01/11/26 is the first of November, because January is not in the time range."""
    text = (
        "# Acme\n# Audience Overview\n# 20261101-20261102\n\n"
        "Day Index,Users,Sessions,Pageviews,Avg. Session Duration,% New Sessions\n"
        '01/11/26,10,12,"1,025",00:01:30,45.5%\n02/11/26,8,9,20,00:00:50,50%\n,18,21,1045,,\n'
    )

    assert rows(totals_in(tmp_path, text)) == [
        ("01", "", None, 10, 12, 1025, None, 1080, None),
        ("02", "", None, 8, 9, 20, None, 450, None),
    ]


def test_matomos_visits_are_those_of_the_whole_website(tmp_path: Path) -> None:
    text = (
        "date,nb_uniq_visitors,nb_users,nb_visits,nb_actions,bounce_count,sum_visit_length,"
        "bounce_rate\n2026-11-01,10,0,12,30,4,600,33%\n"
    )

    found = totals_in(tmp_path, text)

    assert found.report.product == "Matomo"
    assert rows(found) == [("01", "", None, 10, 12, None, 4, 600, None)]


def test_matomos_pages_say_in_their_segment_what_they_are(tmp_path: Path) -> None:
    text = (
        "date,label,nb_visits,nb_uniq_visitors,nb_hits,avg_time_on_page,metadata_url,"
        "metadata_segment\n"
        "2026-11-01,a,6,5,10,00:00:31,https://shop.example/a/,"
        "pageUrl==https%253A%252F%252Fshop.example%252Fa%252F\n"
        "2026-11-01,others,2,2,3,00:00:31,,\n"
    )

    found = totals_in(tmp_path, text)

    assert by_name(found, "visitors", "visits", "page_views") == {"path": {"/a": (5, 6, 10)}}
    assert [reject.line for reject in found.rejects] == [3]
    assert "'others' does not say in 'metadata_segment'" in found.rejects[0].reason


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "date,visitors,pageviews,team\n2026-11-01,1,2,red\n",
            "split by the column 'team' .line 2: 'red'., which is not known",
        ),
        (
            "date,visitors,pageviews\n2026-11-01,many,2\n",
            "line 2: 'visitors' is 'many', and is no count",
        ),
        ("date,visitors,pageviews\n2026-11-01,-1,2\n", "'visitors' is '-1', and is no count"),
        ("date,visitors,pageviews\n2026-02-30,1,2\n", "'2026-02-30' is none of the calendar"),
        (
            "Nth day,Users\n0000,1\n",
            "counts from a start date that the comments before the header do not have",
        ),
    ],
)
def test_what_cannot_be_added_up_is_refused_by_name(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(InvalidMapping, match=message):
        read_totals(a_file(tmp_path, text))


def test_one_damaged_line_is_rejected_and_the_others_are_read(tmp_path: Path) -> None:
    found = totals_in(tmp_path, "date,visitors,pageviews\n2026-11-01,1,2\n2026-11-02,x,2\n2026\n")

    assert rows(found) == [("01", "", None, 1, None, 2, None, None, None)]
    assert [(reject.line, reject.reason) for reject in found.rejects] == [
        (3, "'visitors' is 'x', and is no count"),
        (4, "1 cells under 3 columns"),
    ]


def test_totals_and_events_in_one_container_are_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text(PLAUSIBLE["imported_visitors"])
    (tmp_path / "in" / "b.csv").write_text("timestamp,event\n2026-11-01T10:00:00Z,signup\n")

    with pytest.raises(InvalidMapping, match=r"b.csv has no totals of Plausible"):
        read_totals(SourceFile(tmp_path / "in"))


@pytest.mark.parametrize(
    "text",
    [
        "timestamp,event,distinct_id,visits\n2026-11-01T10:00:00Z,signup,u1,3\n",
        "time,url,page_count\n2026-11-01T10:00:00Z,/,3\n",
        "date,event_id,pageviews\n2026-11-01T10:00:00Z,e1,3\n",
        "Page path,Views,Active users\n/,30,4\n",
    ],
    ids=["events", "a field of events", "events with an id", "no day"],
)
def test_other_files_are_no_totals(tmp_path: Path, text: str) -> None:
    assert read_totals(a_file(tmp_path, text)) is None


def test_rows_have_the_columns_of_their_table(tmp_path: Path) -> None:
    found = with_owner(totals_in(tmp_path, FATHOM), "w1", "i1", NOW)

    first = found.to_pylist()[0]
    assert found.schema.names == [c.name for c in IMPORTED_TOTALS.columns if c.name != "day"]
    assert {name: first[name] for name in ("website_id", "import_id", "product")} == {
        "website_id": "w1",
        "import_id": "i1",
        "product": "Fathom",
    }
    assert first["received_at"].timestamp() * 1000 == NOW
    assert {*found["dimension"].to_pylist()} <= {"", *TOTALS_DIMENSIONS}
