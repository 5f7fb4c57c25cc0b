"""E-mail addresses, tokens and card numbers are masked; what only looks like them is not."""

import pytest

from stream.enrich.rules.masking import mask

HEX = "0123456789abcdef"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("/users/john.doe+x@example.com/edit", "/users/[email]/edit"),
        ("/u/john%40example.co.uk", "/u/[email]"),
        ("no user anna@exämple.de.", "no user [email]."),
        ("mailto:a@163.com?subject=1", "mailto:[email]?subject=1"),
        ("/login/eyJhbGciOiJI.eyJzdWIiOiIx.abc-DEF_1", "/login/[token]"),
        ("Authorization: Bearer abcdef123456", "Authorization: Bearer [token]"),
        ("401 for ?access_token=abc123xyz", "401 for ?access_token=[token]"),
        ("sk_live_51H8abcdefghij", "[token]"),
        ("/invite/" + HEX + HEX + HEX, "/invite/[token]"),
        ("/undigest/" + HEX + HEX + HEX, "/undigest/[token]"),
        ("/reset/Zm9vYmFyMTIzNDU2Nzg5MGFiY2RlZmdoaWprbG1u", "/reset/[token]"),
        ("card 4111 1111 1111 1111 refused", "card [card] refused"),
        ("/pay/5555555555554444", "/pay/[card]"),
        ("3782-822463-10005", "[card]"),
        ("/r?to=%2Fl%3Fmail%3Danna%40a.example%26b", "/r?to=%2Fl%3Fmail%3D[email]%26b"),
        ("?to=%252Fl%253Fmail%253Danna%2540a.example", "?to=%252Fl%253Fmail%253D[email]"),
        ("/u/m%C3%BCller%40a.example", "/u/[email]"),
        (
            "/r?to=%2Fl%3Fcard%3D4111111111111111%26token%3Dabc123",
            "/r?to=%2Fl%3Fcard%3D[card]%26token%3D[token]",
        ),
        (
            '{"password":"hunter2x"}, x-api-key: abcd1234',
            '{"password":"[token]"}, x-api-key: [token]',
        ),
        ("sk-ant-api03-abcdefghijklmnop", "[token]"),
    ],
)
def test_a_secret_is_masked(text: str, masked: str) -> None:
    assert mask(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "/@john/post",
        "/npm/react@18.2.0/index.js",
        "https://cdn.example/jquery@3.7.1.min.js",
        "/img/logo@2x.png",
        "https://anna@shop.example/a",
        "render@https://shop.example/app.js:3:7",
        "/order/4000000000001",  # no check digit
        "/order/1700000000123",  # no issuer's prefix
        "/p/550e8400-e29b-41d4-a716-446655440000",
        "/p/12345678-4111-4111-8111-123456789012",
        "/p/550e8400e29b41d4a716446655440000",
        f"/assets/application-{HEX}{HEX}{HEX}{HEX}.js",
        "/assets/index-BxY3k9Qz.js",
        "/blog/how-To-Build-10-Things-In-Python-3-And-2-More-Tricks",
        "getUserProfileSettingsFromServerV2 is not a function",
        "/blog/HowToBuildABetterMouseTrapIn2026Part2",
        "/p/iPhone15ProMax256GBNaturalTitaniumUnlocked",
        f"https://git.example/shop/commit/{HEX}{HEX}01234567",
        f"/image@sha256:{HEX}{HEX}{HEX}{HEX}",
        "v10.14.2-beta.3",
        "basic knowledge of a token",
        "SyntaxError: Unexpected token: identifier",
        "/sk-vyrobky-a-velmi-dlhy-nazov",
        "/img/logo%402x.png",
    ],
)
def test_what_only_looks_like_a_secret_is_not(text: str) -> None:
    assert mask(text) == text


def test_hostile_texts_take_time_in_proportion_to_their_length() -> None:
    # A pattern that tried each position to the end would take minutes.
    for text in ("a" * 400_000 + "@", "a." * 200_000 + "@x", "4111-" * 80_000, "1" * 400_000):
        assert mask(text) == text
