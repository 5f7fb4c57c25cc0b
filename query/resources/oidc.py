"""`/v1/sign-in/oidc`: single sign-on, to the identity provider and back."""

import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from query.dependencies import QueryDependencies, QueryEndpoint
from query.request.query_string import strict_query_string
from query.sign_in.identity import Identity, Problem, SignInProblem
from query.sign_in.oidc import (
    OidcSignIn,
    begun_sign_in,
    clear_begun_cookie,
    set_begun_cookie,
)
from schemas.errors import Malformed, NotFound, RateLimitExceeded, Unavailable
from schemas.http import openapi
from schemas.http.asgi import header
from schemas.http.middleware import HttpMiddleware

PATH = "/v1/sign-in/oidc"
CALLBACK_PATH = f"{PATH}/callback"
SIGN_IN_PAGE = "/sign-in"
NOT_SET_UP = "Single sign-on is not set up: TIDEMARK_OIDC_ISSUER names no identity provider"
_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?")

SignInByEmail: TypeAlias = Callable[
    [QueryDependencies, Request, Response, Identity], Awaitable[Problem | None]
]
"""Signs in the account of an identity: the response then sets the session cookie.

Creates account and membership where the identity may sign up; the problem when it may not.
"""


async def begin(dependencies: QueryDependencies, request: Request) -> Response:
    """GET: send the browser to the identity provider."""
    dependencies.admit_public(request)
    oidc = _single_sign_on(dependencies)
    redirect_uri = _redirect_uri(dependencies, request)
    try:
        url, begun = await oidc.begin(redirect_uri, request.query_params.get("to"))
        response = RedirectResponse(url, 302)
        set_begun_cookie(response, request, begun, dependencies.sign_ins, dependencies.clock())
    except SignInProblem as failure:
        return _to_sign_in_page(failure.problem)
    except Unavailable:
        return _to_sign_in_page(Problem.UNAVAILABLE)
    return response


async def finish(
    sign_in_by_email: SignInByEmail, dependencies: QueryDependencies, request: Request
) -> Response:
    """GET: sign in the person whom the identity provider sent back."""
    dependencies.admit_public(request)
    oidc = _single_sign_on(dependencies)
    response: Response
    try:
        begun, token = begun_sign_in(request, dependencies.sign_ins)
        if not await dependencies.in_registry(partial(dependencies.sign_ins.end, token)):
            raise SignInProblem(Problem.EXPIRED)
        identity = await oidc.identity(begun, request.query_params)
        response = RedirectResponse(begun.to, 302)
        if problem := await sign_in_by_email(dependencies, request, response, identity):
            raise SignInProblem(problem)
    except SignInProblem as failure:
        response = _to_sign_in_page(failure.problem)
    except Unavailable:
        response = _to_sign_in_page(Problem.UNAVAILABLE)
    clear_begun_cookie(response, request)
    return response


def _single_sign_on(dependencies: QueryDependencies) -> OidcSignIn:
    if dependencies.oidc is None:
        raise NotFound(NOT_SET_UP)
    return dependencies.oidc


def _redirect_uri(dependencies: QueryDependencies, request: Request) -> str:
    """The address of `finish`, under the public URL or under the one that the browser shows."""
    if dependencies.query_url:
        return dependencies.query_url + CALLBACK_PATH
    host = header(request.scope, b"host") or ""
    if not _HOST.fullmatch(host):
        raise Malformed("The header 'Host' is not a host; set TIDEMARK_QUERY_URL to the public URL")
    middleware: HttpMiddleware = request.scope["app"]
    return f"{middleware.scheme(request.scope)}://{host}{CALLBACK_PATH}"


def _to_sign_in_page(problem: Problem) -> Response:
    return RedirectResponse(f"{SIGN_IN_PAGE}?{urlencode({'problem': problem})}", 302)


def oidc_endpoints(sign_in_by_email: SignInByEmail) -> tuple[QueryEndpoint, ...]:
    """The endpoints of single sign-on, which ends with `sign_in_by_email`."""
    return (
        strict_query_string(
            QueryEndpoint(
                begin,
                openapi.Operation(
                    method="GET",
                    path=PATH,
                    operation_id="beginSingleSignOn",
                    tag="Sign-in",
                    summary="Send a browser to the identity provider",
                    description="For a link of the sign-in page. The cookie `tidemark_oidc` "
                    "(`__Host-tidemark_oidc` over HTTPS) binds the sign-in to the browser for ten "
                    "minutes. While the provider is away, the redirect leads to "
                    "`/sign-in?problem=oidc_unavailable`.",
                    parameters=(
                        openapi.Parameter(
                            "to", "path of the page to show afterwards; another address is `/`"
                        ),
                    ),
                    responses=(
                        openapi.Response(
                            302, "to the identity provider", headers=("Location", "Set-Cookie")
                        ),
                    ),
                    errors=(NotFound, RateLimitExceeded),
                    security=({},),
                ),
            )
        ),
        # Not strict: providers add parameters of their own.
        QueryEndpoint(
            partial(finish, sign_in_by_email),
            openapi.Operation(
                method="GET",
                path=CALLBACK_PATH,
                operation_id="finishSingleSignOn",
                tag="Sign-in",
                summary="Sign in the person whom the identity provider sent back",
                description="The redirect URI for the identity provider. Sets the session cookie "
                "and leads to the page that was asked for; otherwise leads to "
                "`/sign-in?problem=…`: `oidc_refused`, `oidc_expired`, `oidc_no_access`, "
                "`oidc_unverified` or `oidc_unavailable`.",
                parameters=tuple(
                    openapi.Parameter(name, f"{meaning}; from the identity provider")
                    for name, meaning in (
                        ("state", "which sign-in this is"),
                        ("code", "proof that the person signed in"),
                        ("error", "why nobody signed in"),
                    )
                ),
                responses=(
                    openapi.Response(
                        302, "to a page of the dashboard", headers=("Location", "Set-Cookie")
                    ),
                ),
                errors=(NotFound, RateLimitExceeded),
                security=({},),
            ),
        ),
    )
