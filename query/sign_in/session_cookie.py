"""The session cookie: which sign-in a browser sends, and how it is set and cleared.

A second cookie without a secret tells the page that there is a session cookie, which no script can
read: a page that nobody has signed in to asks for the key without a request that is refused.
"""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from schemas.http.asgi import header
from schemas.http.middleware import HttpMiddleware
from schemas.registry.signed_tokens import named_subject

SESSION_COOKIE = "tidemark_session"
SIGNED_IN_COOKIE = "tidemark_signed_in"


def read_session_cookie(request: Request) -> str | None:
    """The value of the cookie; empty when it is sent more than once."""
    values = session_cookies(request)
    if len(values) > 1:
        return ""
    return values[0] if values else None


def session_cookies(request: Request) -> Sequence[str]:
    """Every value of the cookie: another port of the host, or a parent domain, may add one."""
    pairs = (pair.strip().partition("=") for pair in _cookies(request).split(";"))
    return [value for name, _, value in pairs if name == SESSION_COOKIE]


def key_of_session_cookie(scope: Scope) -> str | None:
    """The id of the key that the cookie names, whether or not the cookie is authentic."""
    return named_subject(read_session_cookie(Request(scope)) or "")


def set_session_cookie(response: Response, request: Request, value: str, seconds: int) -> None:
    """Send the cookie, which no script reads, and the one beside it; no other site sends them."""
    secure = _is_https(request)
    for name, text, hidden in (
        (SESSION_COOKIE, value, True),
        (SIGNED_IN_COOKIE, "1" if value else "", False),
    ):
        response.set_cookie(
            name,
            text,
            max_age=seconds,
            path="/",
            secure=secure,
            httponly=hidden,
            samesite="strict",
        )


def clear_session_cookie(response: Response, request: Request) -> None:
    """Let the browser forget both cookies."""
    set_session_cookie(response, request, "", 0)


def _cookies(request: Request) -> str:
    return header(request.scope, b"cookie") or ""


def _is_https(request: Request) -> bool:
    middleware: HttpMiddleware = request.scope["app"]
    return middleware.scheme(request.scope) == "https"
