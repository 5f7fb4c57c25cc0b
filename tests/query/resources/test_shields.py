"""Shields: values in their normal form, and which ones are refused."""

from typing import Any

import pytest

from query.resources.saved_validation import validate_record
from schemas.errors import Malformed
from schemas.registry import Shield


def a_shield(kind: str, value: str) -> Shield:
    common: dict[str, Any] = {"organization_id": "o", "website_id": "w"}
    return Shield(
        id="shld_a", created_at=1, updated_at=1, name="a", kind=kind, value=value, **common
    )


@pytest.mark.parametrize(
    ("kind", "given", "normal"),
    [
        ("address", "203.0.113.7/24", "203.0.113.0/24"),
        ("address", "2001:db8::/32", "2001:db8::/32"),
        ("country", "de", "DE"),
        ("host", "*.Shop.example", "*.shop.example"),
        ("path", "/admin/*", "/admin/*"),
        ("path", "/", "/"),
        ("path", "/users/*/", "/users/*"),
        ("agent", "uptimer", "uptimer"),
        ("referrer", "spam.example", "spam.example"),
    ],
)
def test_values_have_a_normal_form(kind: str, given: str, normal: str) -> None:
    assert validate_record(a_shield(kind, given)).value == normal


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("address", "office", "give a network, such as 203.0.113.0/24"),
        ("address", "203.0.113.7", "cuts addresses to /24; give 203.0.113.0/24"),
        ("address", "2001:db8:1:2::/64", "cuts addresses to /48; give 2001:db8:1::/48"),
        ("address", "0.0.0.0/0", "which matches everything"),
        ("country", "XX", "'value' is 'XX'; give a code of ISO 3166"),
        ("path", "*", "which matches everything"),
        ("path", "/**", "which matches everything"),
        ("path", "admin", "a path begins with / or *"),
        ("path", "/?a=b", "has neither ? nor #"),
        ("agent", ".", "which matches everything"),
        ("host", "*.*", "which matches everything"),
        ("host", "https://shop.example", "give a host name"),
        ("agent", "*", "which matches everything"),
        ("referrer", "spam.example/x", "give a host name"),
    ],
)
def test_other_values_are_refused(kind: str, value: str, message: str) -> None:
    with pytest.raises(Malformed) as refused:
        validate_record(a_shield(kind, value))

    assert message in str(refused.value)
