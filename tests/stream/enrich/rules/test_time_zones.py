"""Time zones give countries, also under the old names that browsers send."""

import pytest

from stream.enrich.rules.time_zones import OLD_NAMES, countries, countries_by_zone


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


def test_countries_of_old_names_exist() -> None:
    assert set(OLD_NAMES.values()) <= countries()
