"""Country, region and city: of the database, the proxy, the time zone, in this order."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from schemas.envelope import COUNTRY
from stream.enrich.rules.geo_database import Places
from stream.enrich.rules.geo_records import NOWHERE, Place, read_record
from stream.enrich.rules.lookups import Lookups
from tests.installation import ROOT
from tests.stream.enrich.enriched_rows import facts
from tests.stream.enrich.geo_databases import SHAPES, atlas, write
from tests.stream.enrich.golden_cases import cases

VIEW = {"name": "screen_view"}


@pytest.fixture(scope="module", params=SHAPES)
def known(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lookups:
    path = tmp_path_factory.mktemp("atlas") / "places.mmdb"
    return Lookups(Places([atlas(path, request.param)]))


@pytest.mark.parametrize("case", cases("place"))
def test_a_place_is_known_as_well_as_can_be(known: Lookups, case: dict[str, Any]) -> None:
    found = facts(
        {**VIEW, "timezone": case.get("zone")},
        "country",
        "region",
        "city",
        lookups=known,
        address=case.get("address", ""),
        headers={COUNTRY: case["country"]} if "country" in case else {},
        trusted=case.get("key", False),
    )

    assert [place or "" for place in found] == case["is"]


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({}, NOWHERE),
        ({"country_code": ""}, NOWHERE),
        ({"country_code": "EU", "city": "Brussels"}, NOWHERE),
        ({"country_code": "de", "city": None}, Place("DE")),
        ({"country_code": 276, "country": "DE"}, NOWHERE),
        ({"country": "Germany", "country_code": "DE"}, Place("DE")),
        ({"country": {"iso_code": "CH"}, "subdivisions": []}, Place("CH")),
        ({"country": {"iso_code": "CH"}, "subdivisions": {"en": "x"}, "city": 7}, Place("CH")),
        ({"country": ["CH"], "registered_country": {"iso_code": "CH"}}, NOWHERE),
        ({"country_code": "CH", "city": "x" * 200}, Place("CH", None, "x" * 128)),
        ({"country_code": "CH", "city": " (Kreis 1)"}, Place("CH")),
        ({"country_code": "US", "hosting": True}, Place("US", hosted=True)),
        ({"country_code": "US", "hosting": "yes"}, Place("US")),
        (
            {"country": {"iso_code": "US"}, "traits": {"is_hosting_provider": True}},
            Place("US", hosted=True),
        ),
    ],
)
def test_what_a_record_does_not_say_plainly_is_not_said(
    record: dict[str, Any], expected: Place
) -> None:
    assert read_record(record) == expected


def test_an_address_of_a_data_centre_is_a_hint_and_no_flag(tmp_path: Path) -> None:
    path = write(tmp_path / "p.mmdb", {"20.33.0.0/16": {"country_code": "US", "hosting": True}})
    lookups = Lookups(Places([path]))
    columns = ("is_bot", "bot_reason")

    assert facts(VIEW, *columns, lookups=lookups, address="20.33.1.0") == (
        False,
        "hint: data centre",
    )
    assert facts(VIEW, *columns, lookups=lookups, address="20.34.1.0") == (False, None)
    assert facts(VIEW, *columns, lookups=lookups, address="20.33.1.0", user_agent="curl/8") == (
        True,
        "http library: curl",
    )


def test_without_a_file_every_place_is_unknown(tmp_path: Path) -> None:
    assert Places().find("131.111.8.0") == NOWHERE
    assert Places([tmp_path / "none.mmdb"]).find("131.111.8.0") == NOWHERE


def test_the_first_file_that_knows_a_country_answers(tmp_path: Path) -> None:
    old = write(tmp_path / "four.mmdb", {"131.111.0.0/16": {"country_code": "GB"}}, version=4)
    six = {"131.111.0.0/16": {"country_code": "FR"}, "2001:620::/32": {"country_code": "CH"}}
    places = Places([old, write(tmp_path / "six.mmdb", six)])

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
    places = Places([path], clock)
    before = places.found["131.111.8.0"]
    write(path, {"131.111.0.0/16": {"country_code": "IE"}})

    places.refresh()  # within the same second
    same = places.found["131.111.8.0"]
    clock.now += 1.0
    places.refresh()

    assert (before, same, places.found["131.111.8.0"]) == (Place("GB"), Place("GB"), Place("IE"))


@pytest.mark.parametrize("trouble", ["broken", "gone", "empty"])
def test_the_old_file_goes_on_while_the_new_one_is_no_good(
    tmp_path: Path, trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Hands()
    path = write(tmp_path / "p.mmdb", {"131.111.0.0/16": {"country_code": "GB"}})
    places = Places([path], clock)
    path.unlink()
    if trouble != "gone":
        path.write_bytes(b"" if trouble == "empty" else b"no database at all")

    for _ in range(3):
        clock.now += 1.0
        places.refresh()
    during = places.found["131.111.8.0"]
    told = [record.getMessage() for record in caplog.records]
    write(path, {"131.111.0.0/16": {"country_code": "IE"}})
    clock.now += 1.0
    places.refresh()

    assert (during, places.found["131.111.8.0"]) == (Place("GB"), Place("IE"))
    assert told.count("places not read") == 1
    assert places.unread() == []


def test_a_file_that_comes_later_is_read(tmp_path: Path) -> None:
    clock = Hands()
    path = tmp_path / "p.mmdb"
    places = Places([path], clock)
    unread = places.unread()
    write(path, {"131.111.0.0/16": {"country_code": "GB"}})
    clock.now += 1.0
    places.refresh()

    assert (unread, places.unread()) == ([path], [])
    assert places.find("131.111.8.0") == Place("GB")


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
    assert f"TIDEMARK_GEO names {missing}, which cannot be read" in ended.stderr.decode()
