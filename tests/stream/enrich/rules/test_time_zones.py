"""Time zones give countries, also under the old names that browsers send."""

import pytest

from stream.enrich.rules.time_zones import OLD_NAMES, countries, countries_by_zone, zone_names


@pytest.mark.parametrize(
    ("zone", "country"),
    [
        ("Europe/Berlin", "DE"),
        ("Asia/Calcutta", "IN"),
        ("Asia/Kolkata", "IN"),
        ("Europe/Kiev", "UA"),
        ("America/Godthab", "GL"),
        ("Africa/Asmera", "ER"),  # in the tz database a link to Africa/Nairobi
        ("Pacific/Truk", "FM"),
        ("Iceland", "IS"),  # a link to Africa/Abidjan
        ("Portugal", "PT"),
    ],
)
def test_a_zone_gives_its_country(zone: str, country: str) -> None:
    assert countries_by_zone()[zone] == country


@pytest.mark.parametrize("zone", ["CET", "EET", "EST", "HST", "MET", "MST", "WET"])
def test_a_time_of_several_countries_gives_none(zone: str) -> None:
    assert zone not in countries_by_zone()


def test_zones_of_old_names_are_of_a_country() -> None:
    assert {countries_by_zone()[zone] for zone in OLD_NAMES.values()} <= countries()


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        ("Asia/Calcutta", "Asia/Kolkata"),
        ("Asia/Kolkata", "Asia/Kolkata"),
        ("Europe/Kiev", "Europe/Kyiv"),
        ("America/Buenos_Aires", "America/Argentina/Buenos_Aires"),
        ("US/Pacific", "America/Los_Angeles"),
        ("Pacific/Truk", "Pacific/Chuuk"),
        ("Iceland", "Atlantic/Reykjavik"),
        ("Europe/Oslo", "Europe/Oslo"),  # a link to Europe/Berlin, and of another country
        ("Africa/Nairobi", "Africa/Nairobi"),
        ("CET", "CET"),
        ("UTC", "UTC"),
        ("Etc/UTC", "UTC"),
        ("Zulu", "UTC"),
        ("Etc/GMT-14", None),
    ],
)
def test_a_zone_has_one_name(name: str, zone: str | None) -> None:
    assert zone_names().get(name.lower()) == zone
