"""Characters of stored texts that nobody sees."""

import re
from pathlib import Path

import pytest

from schemas.errors import Malformed
from schemas.registry.unseen_text import UNSEEN, refuse_null, require_seen
from schemas.registry.validation import new_website, validate_key_fields, validate_link_fields

NOW = 1_796_000_000_000
ISOLATE = Path(__file__).parents[3] / "query" / "web" / "src" / "isolate.ts"


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("\u200b", "U+200B"),
        ("\u3164\u3164", "U+3164"),
        ("\u2800 \u2800", "U+2800, U+0020"),
        ("\U000e0041\U000e007f", "U+E0041, U+E007F"),
        ("\u202e\ufe0f\xad", "U+202E, U+FE0F, U+00AD"),
    ],
)
def test_a_name_that_nobody_sees_is_refused(name: str, listed: str) -> None:
    rule = re.escape(f"'name' has no character that is seen, only {listed}; give it one")
    with pytest.raises(Malformed, match=rule):
        new_website("acme", "shop.example", NOW, name=name)
    with pytest.raises(Malformed, match=rule):
        validate_key_fields({"name": name})
    with pytest.raises(Malformed, match=rule):
        validate_link_fields({"name": name})
    with pytest.raises(Malformed, match=rule.replace("'name'", "'ogTitle'")):
        validate_link_fields({"og_title": name})


@pytest.mark.parametrize(
    "name",
    [
        "Shop",
        "店",
        "👩\u200d👧",
        "❤\ufe0f",
        "می\u200cخواهم",
        "\u200fשלום",
        "葛\U000e0100",
        "\ue000",
        "-",
    ],
)
def test_a_name_with_one_seen_character_is_kept(name: str) -> None:
    assert require_seen("name", name) == name
    assert validate_key_fields({"name": name})["name"] == name


def test_no_name_stays_allowed_where_it_was() -> None:
    assert validate_key_fields({"name": ""}) == {"name": ""}


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"name": "a\0"}, "name"),
        ({"steps": [{"event": "e"}, {"label": "\0"}]}, "steps[1].label"),
        ({"filters": [{"or": [{"value": ["a", "\0b"]}]}]}, "filters[0].or[0].value[1]"),
        ({"filters": [{"a\0": 1}]}, "filters[0]"),
    ],
)
def test_a_null_character_is_named_with_its_place(value: object, place: str) -> None:
    with pytest.raises(Malformed, match=re.escape(f"'{place}' has a null character; remove it")):
        refuse_null("", value)


def test_a_link_has_no_null_character() -> None:
    for field, member in {"external_id": "externalId", "og_title": "ogTitle"}.items():
        with pytest.raises(Malformed, match=f"'{member}' has a null character"):
            validate_link_fields({field: "a\0b"})


def test_what_the_dashboard_names_is_no_seen_character() -> None:
    """Both lists of characters: whoever adds one to the page's, adds it here."""
    source = ISOLATE.read_text()
    listed = "".join(re.findall(r'\+ "(?:\|\[)?((?:\\\\|[^"\\])*?)\]?",?$', source, re.MULTILINE))
    escapes = re.findall(
        r"\\\\(?:u\{(\w+)\}|[ux](\w{2,4}))(?:-\\\\(?:u\{(\w+)\}|[ux](\w{2,4})))?", listed
    )
    assert len(escapes) > 20
    for first, first_short, last, last_short in escapes:
        begin = int(first or first_short, 16)
        for code in range(begin, int(last or last_short or hex(begin), 16) + 1):
            assert UNSEEN.fullmatch(chr(code)), hex(code)
