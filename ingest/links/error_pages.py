"""Error pages for unknown, expired and rate-limited links."""

from schemas.http.limits import Headers

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


def error_page(title: str, advice: str) -> bytes:
    """An HTML page; title and advice are our own text and not escaped."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>{title}</title>
<style>{_STYLE}</style>
</head>
<body><h1>{title}</h1><p>{advice}</p></body>
</html>
""".encode()


UNKNOWN_LINK_PAGE = error_page(
    "Link not found", "Check the address, or ask the sender for the correct link."
)
EXPIRED_LINK_PAGE = error_page("This link has expired", "Ask the sender for a new link.")
RATE_LIMITED_PAGE = error_page("Too many requests for this link", "Try again in a minute.")
