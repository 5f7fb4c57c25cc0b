"""Time zones that have a name in the IANA database."""

from schemas.runtime.time_zone_names import time_zones


def test_what_depends_on_the_machine_is_no_zone() -> None:
    assert {
        "UTC",
        "Europe/Berlin",
        "Asia/Kolkata",
        "Asia/Calcutta",
        "Europe/Kiev",
        "Europe/Kyiv",
    } <= time_zones()
    assert not {"localtime", "Factory"} & time_zones()
