"""Names of browsers and systems become ours; versions lose the name before them."""

import pytest

from deploy.importer.formats.software_names import parse_browser, parse_os, parse_os_version


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        ("edge-chromium", "Edge"),
        ("Mobile Safari", "Safari"),
        ("ios", "Safari"),
        ("Chrome iOS", "Chrome"),
        ("Safari (in-app)", "iOS WebView"),
        ("Vivaldi", "Vivaldi"),
        ("(not set)", None),
    ],
)
def test_browsers(sent: str, name: str | None) -> None:
    assert parse_browser(sent) == name


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        ("Mac OS X", "macOS"),
        ("Macintosh", "macOS"),
        ("Windows 10", "Windows"),
        ("Windows Phone", "Windows Phone"),
        ("GNU/Linux", "Linux"),
        ("Android OS", "Android"),
        ("Tizen", "Tizen"),
        ("", None),
    ],
)
def test_systems(sent: str, name: str | None) -> None:
    assert parse_os(sent) == name


@pytest.mark.parametrize(
    ("sent", "version"),
    [("Macintosh Intel 10.15", "10.15"), ("iOS 17.4", "17.4"), ("XP", "XP"), (None, None)],
)
def test_versions(sent: str | None, version: str | None) -> None:
    assert parse_os_version(sent) == version
