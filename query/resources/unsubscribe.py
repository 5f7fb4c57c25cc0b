"""/v1/unsubscribe: a page with one button, and the request that it or a mail program sends.

Nothing is changed by GET: mail filters open the links of mails.
"""

import base64
import hashlib
from html import escape

from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QueryDependencies, QueryEndpoint
from query.notify.unsubscribe import PATH, find_subscription, unsubscribe
from query.reports.texts import shown_name
from query.response.json_response import uncached
from schemas.errors import RateLimitExceeded, Unavailable
from schemas.http import openapi
from schemas.registry import Alert
from schemas.registry.signed_tokens import SignedToken, TokenKind

STYLE = (
    "body{margin:0;padding:48px 16px;background:#f3f6f7;color:#16232b;"
    "font:16px/1.5 system-ui,sans-serif}"
    "main{max-width:440px;margin:auto;padding:32px;background:#fff;border:1px solid #dde4e8;"
    "border-radius:8px;overflow-wrap:anywhere}"
    "h1{margin:0 0 16px;font-size:22px;line-height:1.3}p{margin:0 0 16px}"
    "button{padding:12px 20px;border:0;border-radius:6px;background:#0f5c7a;color:#fff;"
    "font:inherit;font-weight:600;cursor:pointer}"
)
STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
HEADERS = {
    "content-security-policy": f"default-src 'none'; style-src 'sha256-{STYLE_HASH}'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-robots-tag": "noindex",
}
BUTTON = '<form method="post"><button type="submit">Stop these mails</button></form>'
ENDED = (
    "This link has ended",
    "It works for a year. Use the link of a newer mail, or ask whoever manages the website.",
)
STOPPED = ("These mails are stopped", "You get no more of them.")


async def show_page(dependencies: QueryDependencies, request: Request) -> Response:
    """GET: what the button would stop."""
    dependencies.admit_public(request)
    token = _token(dependencies, request)
    if token is None:
        return _page(*ENDED, status=404)
    store = dependencies.store
    subscription = await dependencies.in_registry(lambda: find_subscription(store, token))
    if subscription is None:
        return _page(*STOPPED)
    record, address = subscription
    website = dependencies.registry.websites.get(record.website_id)
    of_website = f" of {shown_name(website.name or website.domain)}" if website else ""
    word = "alert" if isinstance(record, Alert) else "report"
    text = f"The {word} “{shown_name(record.name)}”{of_website} is sent to {address}."
    return _page("Stop these mails?", text, BUTTON)


async def stop_mails(dependencies: QueryDependencies, request: Request) -> Response:
    """POST: remove the recipient (RFC 8058 for mail programs); the body has no effect."""
    dependencies.admit_public(request)
    token = _token(dependencies, request)
    if token is None:
        return _page(*ENDED, status=404)
    store, now = dependencies.store, dependencies.clock()
    await dependencies.in_registry(lambda: unsubscribe(store, token, now))
    await dependencies.refresh_registry()
    return _page(*STOPPED)


def _token(dependencies: QueryDependencies, request: Request) -> SignedToken | None:
    text = request.query_params.get("token", "")
    return dependencies.sign_ins.find(text, TokenKind.UNSUBSCRIBE)


def _page(heading: str, text: str, form: str = "", status: int = 200) -> Response:
    body = f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(heading)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{escape(heading)}</h1>
<p>{escape(text)}</p>
{form}
</main>
</body>
</html>
"""
    return uncached(Response(body, status, HEADERS, "text/html"))


TOKEN_PARAMETER = openapi.Parameter("token", "from the link of a mail")
_RESPONSES = tuple(
    openapi.Response(status, description, media_types=("text/html",))
    for status, description in ((200, "a page"), (404, "a page: the link is wrong or has ended"))
)
_ERRORS = (RateLimitExceeded, Unavailable)
ENDPOINTS = (
    QueryEndpoint(
        show_page,
        openapi.Operation(
            method="GET",
            path=PATH,
            operation_id="showUnsubscribePage",
            tag="Reports",
            summary="Show a page with the button that stops mails to one recipient",
            parameters=(TOKEN_PARAMETER,),
            responses=_RESPONSES,
            errors=_ERRORS,
            security=({},),
        ),
    ),
    QueryEndpoint(
        stop_mails,
        openapi.Operation(
            method="POST",
            path=PATH,
            operation_id="unsubscribe",
            tag="Reports",
            summary="Stop mails of an alert or a report to one recipient",
            description="For the page, and for mail programs (RFC 8058: List-Unsubscribe-Post).",
            parameters=(TOKEN_PARAMETER,),
            responses=_RESPONSES,
            errors=_ERRORS,
            security=({},),
        ),
    ),
)
