"""Country, region and city: of the database, the proxy, the time zone, in this order."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from schemas.envelope import COUNTRY_HEADER
from schemas.kinds import ERROR_REPORT, PAGE_ENGAGEMENT, WEB_VITAL, Kind
from stream.enrich.rules.geo_database import NO_LOCATION, GeoDatabase, Location, parse_record
from stream.enrich.rules.lookups import Lookups
from tests.installation import ROOT
from tests.stream.enrich.enriched_rows import facts
from tests.stream.enrich.geo_databases import SHAPES, atlas, write
from tests.stream.enrich.golden_cases import cases

VIEW = {"name": "screen_view"}


@pytest.fixture(scope="module", params=SHAPES)
def known(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lookups:
    path = tmp_path_factory.mktemp("atlas") / "places.mmdb"
    return Lookups(GeoDatabase([atlas(path, request.param)]))


@pytest.mark.parametrize("case", cases("location"))
def test_a_place_is_known_as_well_as_can_be(known: Lookups, case: dict[str, Any]) -> None:
    found = facts(
        {**VIEW, "timezone": case.get("zone")},
        "country",
        "region",
        "city",
        lookups=known,
        client_network=case.get("address", ""),
        headers={COUNTRY_HEADER: case["country"]} if "country" in case else {},
        trusted=case.get("key", False),
    )

    assert [place or "" for place in found] == case["is"]


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({}, NO_LOCATION),
        ({"country_code": ""}, NO_LOCATION),
        ({"country_code": "EU", "city": "Brussels"}, NO_LOCATION),
        ({"country_code": "de", "city": None}, Location("DE")),
        ({"country_code": 276, "country": "DE"}, NO_LOCATION),
        ({"country": "Germany", "country_code": "DE"}, Location("DE")),
        ({"country": {"iso_code": "CH"}, "subdivisions": []}, Location("CH")),
        ({"country": {"iso_code": "CH"}, "subdivisions": {"en": "x"}, "city": 7}, Location("CH")),
        ({"country": ["CH"], "registered_country": {"iso_code": "CH"}}, NO_LOCATION),
        ({"country_code": "CH", "city": "x" * 200}, Location("CH", None, "x" * 128)),
        ({"country_code": "CH", "city": " (Kreis 1)"}, Location("CH")),
        ({"country_code": "US", "hosting": True}, Location("US", is_data_centre=True)),
        ({"country_code": "US", "hosting": "yes"}, Location("US")),
        (
            {"country": {"iso_code": "US"}, "traits": {"is_hosting_provider": True}},
            Location("US", is_data_centre=True),
        ),
    ],
)
def test_what_a_record_does_not_say_plainly_is_not_said(
    record: dict[str, Any], expected: Location
) -> None:
    assert parse_record(record) == expected


def test_an_address_of_a_data_centre_is_a_hint_and_no_flag(tmp_path: Path) -> None:
    path = write(tmp_path / "p.mmdb", {"20.33.0.0/16": {"country_code": "US", "hosting": True}})
    lookups = Lookups(GeoDatabase([path]))
    columns = ("is_bot", "bot_reason")

    assert facts(VIEW, *columns, lookups=lookups, client_network="20.33.1.0") == (
        False,
        "hint: data centre",
    )
    assert facts(VIEW, *columns, lookups=lookups, client_network="20.34.1.0") == (False, None)
    assert facts(
        VIEW, *columns, lookups=lookups, client_network="20.33.1.0", user_agent="curl/8"
    ) == (
        True,
        "http library: curl",
    )


def test_without_a_file_every_place_is_unknown(tmp_path: Path) -> None:
    assert GeoDatabase().find("131.111.8.0") == NO_LOCATION
    assert GeoDatabase([tmp_path / "none.mmdb"]).find("131.111.8.0") == NO_LOCATION


def test_the_first_file_that_knows_a_country_answers(tmp_path: Path) -> None:
    old = write(tmp_path / "four.mmdb", {"131.111.0.0/16": {"country_code": "GB"}}, version=4)
    six = {"131.111.0.0/16": {"country_code": "FR"}, "2001:620::/32": {"country_code": "CH"}}
    places = GeoDatabase([old, write(tmp_path / "six.mmdb", six)])

    assert [places.find(a).country for a in ("131.111.8.0", "2001:620::", "2001:638::")] == [
        "GB",
        "CH",
        None,
    ]


class Hands:
    """A clock that is turned by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_file_that_was_replaced_is_read_without_a_restart(tmp_path: Path) -> None:
    clock = Hands()
    path = write(tmp_path / "p.mmdb", {"131.111.0.0/16": {"country_code": "GB"}})
    places = GeoDatabase([path], clock)
    before = places.locations["131.111.8.0"]
    write(path, {"131.111.0.0/16": {"country_code": "IE"}})

    places.refresh()  # within the same second
    same = places.locations["131.111.8.0"]
    clock.now += 1.0
    places.refresh()

    assert (before, same, places.locations["131.111.8.0"]) == (
        Location("GB"),
        Location("GB"),
        Location("IE"),
    )


@pytest.mark.parametrize("trouble", ["broken", "gone", "empty"])
def test_the_old_file_goes_on_while_the_new_one_is_no_good(
    tmp_path: Path, trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Hands()
    path = write(tmp_path / "p.mmdb", {"131.111.0.0/16": {"country_code": "GB"}})
    places = GeoDatabase([path], clock)
    path.unlink()
    if trouble != "gone":
        path.write_bytes(b"" if trouble == "empty" else b"no database at all")

    for _ in range(3):
        clock.now += 1.0
        places.refresh()
    during = places.locations["131.111.8.0"]
    messages = [record.getMessage() for record in caplog.records]
    write(path, {"131.111.0.0/16": {"country_code": "IE"}})
    clock.now += 1.0
    places.refresh()

    assert (during, places.locations["131.111.8.0"]) == (Location("GB"), Location("IE"))
    assert messages.count("geo database not readable") == 1
    assert places.unreadable_files() == []


def test_a_file_that_comes_later_is_read(tmp_path: Path) -> None:
    clock = Hands()
    path = tmp_path / "p.mmdb"
    places = GeoDatabase([path], clock)
    unread = places.unreadable_files()
    write(path, {"131.111.0.0/16": {"country_code": "GB"}})
    clock.now += 1.0
    places.refresh()

    assert (unread, places.unreadable_files()) == ([path], [])
    assert places.find("131.111.8.0") == Location("GB")


def test_a_worker_that_cannot_read_the_named_file_stores_nothing(tmp_path: Path) -> None:
    missing = tmp_path / "cities.mmdb"

    ended = subprocess.run(
        [sys.executable, "-m", "stream", "worker"],
        env={**os.environ, "TIDEMARK_GEO": str(missing), "TIDEMARK_DATA_DIR": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert ended.returncode == 78
    assert f"TIDEMARK_GEO: {missing} cannot be read" in ended.stderr.decode()


@pytest.mark.parametrize(
    ("kind", "item"),
    [
        (WEB_VITAL, {"path": "/", "metricName": "LCP", "metricValue": 1}),
        (ERROR_REPORT, {"message": "x is undefined"}),
        (PAGE_ENGAGEMENT, {"path": "/"}),
    ],
    ids=["web vital", "error", "engagement"],
)
def test_a_time_zone_is_stored_and_gives_the_country(kind: Kind, item: dict[str, object]) -> None:
    item = {**item, "timezone": "asia/kathmandu"}

    assert facts(item, "timezone", "country", kind=kind) == ("Asia/Kathmandu", "NP")
