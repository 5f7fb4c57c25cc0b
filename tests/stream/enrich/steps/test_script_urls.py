"""URLs in error reports lose query and fragment; lines and columns stay."""

import pytest

from schemas.kinds import ERROR_REPORT
from tests.stream.enrich.enriched_rows import facts

REPORT = {"message": "x is undefined", "path": "https://shop.example/?secret=1"}


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("https://shop.example/?q=a&secret=1#frag", "https://shop.example/"),
        ("https://cdn.example/app.js#frag?x", "https://cdn.example/app.js"),
        ("/app.js?v=2", "/app.js"),
        ("https://me:secret@shop.example/a.js", "https://shop.example/a.js"),
        ("https://shop.example/" + "a" * 3000, "https://shop.example/" + "a" * 2027),
        ("<anonymous>", "<anonymous>"),
        (None, None),
    ],
)
def test_the_file_name_has_no_query(sent: str | None, stored: str | None) -> None:
    assert facts({**REPORT, "filename": sent}, "filename", kind=ERROR_REPORT) == (stored,)


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        (
            "TypeError: x is undefined\n    at pay (https://shop.example/?secret=1#frag:10:5)\n"
            "    at https://shop.example/app.js?v=2:1:20",
            "TypeError: x is undefined\n    at pay (https://shop.example/:10:5)\n"
            "    at https://shop.example/app.js:1:20",
        ),
        (
            "pay@https://shop.example/?secret=1:10:5\n@https://shop.example/a.js#x:3",
            "pay@https://shop.example/:10:5\n@https://shop.example/a.js:3",
        ),
        (
            "at a (webpack:///./src/App.vue?ab12:3:4)",
            "at a (webpack:///./src/App.vue:3:4)",
        ),
        ("at b (https://shop.example/a.js?t=12:30)", "at b (https://shop.example/a.js:30)"),
        (
            "at eval (eval at run (https://me:secret@shop.example/a.js?t=1:10:5), <anonymous>:1:3)",
            "at eval (eval at run (https://shop.example/a.js:10:5), <anonymous>:1:3)",
        ),
        (
            "at pay (/a.js?token=secret:10:5)\npay@/a.js?token=secret:3\nat a.js?token=secret:1:2",
            "at pay (/a.js:10:5)\npay@/a.js:3\nat a.js:1:2",
        ),
        ("at x (webpack://@shop/ui/a.js?ab12:3:4)", "at x (webpack://@shop/ui/a.js:3:4)"),
        ("Error: is it true? #1 at a.js:1:2", "Error: is it true? #1 at a.js:1:2"),
        ("at https://shop.example/a.js:1:2", "at https://shop.example/a.js:1:2"),
        (None, None),
    ],
    ids=[
        *("chrome", "firefox", "source map", "time in a query", "eval", "paths", "scope"),
        *("no url", "no query", "none"),
    ],
)
def test_the_stack_has_no_query(sent: str | None, stored: str | None) -> None:
    assert facts({**REPORT, "stack": sent}, "stack", kind=ERROR_REPORT) == (stored,)


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        (
            "Failed to fetch https://shop.example/a.js?token=secret, retrying",
            "Failed to fetch https://shop.example/a.js, retrying",
        ),
        (
            'GET "/api/cart?token=secret#now" 404 (is it there?)',
            'GET "/api/cart" 404 (is it there?)',
        ),
        ('{"url":"//a.example/b?t=1","code":5}', '{"url":"//a.example/b","code":5}'),
        ("Loading 'https://a.example/?name=O'Neill&t=1'.", "Loading 'https://a.example/'."),
        ("at https://a.example/b?q=<script>token=secret", "at https://a.example/b"),
        ("see //anna:secret@a.example/b", "see //a.example/b"),
        ("redis://:secret@cache.example:6379 is down", "redis://cache.example:6379 is down"),
        ("Minified React error #31; and/or? x?y=1", "Minified React error #31; and/or? x?y=1"),
    ],
    ids=["text", "path", "json", "quotes", "markup", "no scheme", "user", "no url"],
)
def test_the_message_has_no_query(sent: str, stored: str) -> None:
    assert facts({**REPORT, "message": sent}, "message", kind=ERROR_REPORT) == (stored,)
