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
        ("Error: is it true? #1 at a.js:1:2", "Error: is it true? #1 at a.js:1:2"),
        ("at https://shop.example/a.js:1:2", "at https://shop.example/a.js:1:2"),
        (None, None),
    ],
    ids=["chrome", "firefox", "source map", "time in a query", "no url", "no query", "none"],
)
def test_the_stack_has_no_query(sent: str | None, stored: str | None) -> None:
    assert facts({**REPORT, "stack": sent}, "stack", kind=ERROR_REPORT) == (stored,)
