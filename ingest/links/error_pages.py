"""What people are shown whom a link does not lead on."""

from schemas.http.rate_limit_headers import Headers

HTML_HEADERS: Headers = [
    (b"content-type", b"text/html; charset=utf-8"),
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    ),
    (b"cache-control", b"no-store"),
]

_STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem;"
    "color:#222;background:#fff}@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}}"
)


def error_page(said: str, advice: str) -> bytes:
    """A page with one sentence and one piece of advice; both are ours."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>{said}</title>
<style>{_STYLE}</style>
</head>
<body><h1>{said}</h1><p>{advice}</p></body>
</html>
""".encode()


UNKNOWN_LINK_PAGE = error_page(
    "This link leads nowhere", "Check its spelling, or ask whoever gave it to you."
)
EXPIRED_LINK_PAGE = error_page("This link has expired", "Ask whoever gave it to you for a new one.")
RATE_LIMITED_PAGE = error_page("Too many people follow this link", "Try it again in a minute.")
