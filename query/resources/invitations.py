"""Invitations and new passwords: what the links that people get are for."""

import asyncio
from functools import partial
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import BODY_ERRORS, KEY_ERRORS, QueryDependencies, QueryEndpoint
from query.request.body import read_json
from query.resources.person_sign_in import (
    LINK_ENDED,
    account_of_reset,
    begin_session,
    count_reset,
    find_account,
    new_account,
    normal_email,
    send_reset,
    store_of_person,
    verify_password,
)
from query.resources.quiet_refusals import quiet_refusals
from query.resources.sign_in import NO_PASSWORDS, REQUEST_PARAMETER, MeResponse, me_response
from query.response.bodies import SuccessResponse
from query.response.json_response import json_response, uncached
from query.sign_in.hashing import new_hash
from query.sign_in.person_links import MAILED, SentLink, password_mark
from query.sign_in.same_origin import require_same_origin
from schemas.errors import Forbidden, Malformed, SecondFactorRequired, Unauthorized
from schemas.http import openapi
from schemas.registry import Account, Member, RecordConflict, RecordNotFound
from schemas.registry.passwords import password_problem
from schemas.registry.sign_ins import Way
from schemas.registry.signed_tokens import SignedToken, TokenKind
from schemas.registry.validation import validate_name
from schemas.runtime.clock import format_instant

ONLY_OIDC = "This account signs in by single sign-on: do that, and the invitation is accepted"
Token = Annotated[str, Meta(min_length=1, max_length=200)]
Password = Annotated[str, Meta(min_length=1, max_length=200)]


class InvitationBody(Struct, forbid_unknown_fields=True):
    """The token of an invitation link."""

    token: Token


class Acceptance(InvitationBody, forbid_unknown_fields=True, kw_only=True):
    """A new account, or the password of the one that the person has."""

    password: Password
    name: Annotated[str, Meta(max_length=255)] = ""
    code: Annotated[str, Meta(min_length=1, max_length=40)] | UnsetType = UNSET


class InvitedWebsite(Struct):
    """A website that an invitation is to."""

    name: str
    role: str


class Invitation(Struct, rename="camel"):
    """What an invitation is to."""

    email: str
    name: Annotated[str, Meta(description="as whoever invites calls the person")]
    organization: str
    role: str | None
    websites: Annotated[list[InvitedWebsite], Meta(description="roles on some, besides")]
    invited_by: str
    has_account: Annotated[bool, Meta(description="whether a password exists, and is to be given")]
    expires: str


class InvitationResponse(Struct):
    """An invitation."""

    success: Literal[True]
    data: Invitation


class ResetBody(Struct, forbid_unknown_fields=True):
    """The account whose password is forgotten."""

    email: Annotated[str, Meta(min_length=3, max_length=254)]


class NewPassword(Struct, forbid_unknown_fields=True):
    """The token of a link, and the new password."""

    token: Token
    password: Password


class NewPasswordResponse(Struct):
    """The account whose password is set."""

    success: Literal[True]
    email: str


async def open_invitation(dependencies: QueryDependencies, request: Request) -> Response:
    """POST: what the link is an invitation to."""
    require_same_origin(request)
    dependencies.admit_public(request)
    body = await read_json(request, InvitationBody)
    token, member = await _invited(dependencies, body.token)
    registry = dependencies.registry
    account = await find_account(dependencies, member.email)
    websites = (
        (registry.websites.get(website_id), role)
        for website_id, role in member.website_roles.items()
    )
    shown = Invitation(
        email=member.email,
        name=member.name,
        organization=registry.organizations[member.organization_id].name,
        role=member.role,
        websites=[
            InvitedWebsite(website.name or website.domain, role)
            for website, role in websites
            if website
        ],
        invited_by=member.invited_by,
        has_account=account is not None and account.password_hash is not None,
        expires=str(format_instant(token.ends_at)),
    )
    return uncached(json_response(InvitationResponse(success=True, data=shown)))


async def accept_invitation(dependencies: QueryDependencies, request: Request) -> Response:
    """POST: the person becomes a member, and is signed in."""
    require_same_origin(request)
    dependencies.admit_public(request)
    body = await read_json(request, Acceptance)
    if not dependencies.access.password_sign_in:
        raise Forbidden(NO_PASSWORDS)
    token, member = await _invited(dependencies, body.token)
    account = await find_account(dependencies, member.email)
    if account is None:
        is_mailed = token.subject.endswith(f"-{MAILED}")
        name = body.name or member.name
        account = await account_with_password(
            dependencies, member.email, name, body.password, is_proved=is_mailed
        )
    elif account.password_hash is None:
        raise Forbidden(ONLY_OIDC)
    else:
        code = body.code if isinstance(body.code, str) else None
        account = await verify_password(dependencies, request, member.email, body.password, code)
    joins, now, person = account, dependencies.clock(), store_of_person(dependencies, account)
    try:
        member = await dependencies.in_registry(
            lambda: person.accept_invitation(member, token.id, joins, now)
        )
    except (RecordNotFound, RecordConflict):
        raise Unauthorized(LINK_ENDED) from None
    respond = partial(me_response, dependencies)
    return await begin_session(dependencies, request, respond, member, Way.PASSWORD, joins)


async def account_with_password(
    dependencies: QueryDependencies, email: str, name: str, password: str, is_proved: bool = False
) -> Account:
    """A new account, not stored yet; Malformed names the rule that the password breaks."""
    return new_account(
        email,
        name and validate_name("name", name),
        dependencies.clock(),
        password_hash=await hash_new_password(password, email),
        email_proved=is_proved,
    )


async def hash_new_password(password: str, email: str) -> str:
    """The hash of a password that may be used; Malformed."""
    problem = password_problem(password, email)
    if problem is not None:
        raise Malformed(f"'password' {problem}")
    return await new_hash(password)


async def forgot_password(dependencies: QueryDependencies, request: Request) -> Response:
    """POST: mails a link, if the account exists; whoever asks learns nothing."""
    require_same_origin(request)
    dependencies.admit_public(request)
    body = await read_json(request, ResetBody)
    if dependencies.access.mailer is None or not dependencies.access.password_sign_in:
        raise Forbidden(NO_MAIL)
    email = normal_email(body.email)
    await count_reset(request, email)
    account = await find_account(dependencies, email)
    if account is not None:
        task = asyncio.create_task(send_reset(dependencies, account))
        MAILS.add(task)
        task.add_done_callback(MAILS.discard)
    return json_response(SuccessResponse(success=True), 202)


MAILS: set[asyncio.Task[SentLink]] = set()
"""Mails that are being sent: a task that nothing refers to may be collected."""


async def set_password(dependencies: QueryDependencies, request: Request) -> Response:
    """POST: sets the password, and ends all sessions of the account."""
    require_same_origin(request)
    dependencies.admit_public(request)
    body = await read_json(request, NewPassword)
    account, is_mailed = await account_of_reset(dependencies, body.token)
    hashed = await hash_new_password(body.password, account.email)
    mark, now = password_mark(account), dependencies.clock()

    def renewed(current: Account) -> Account:
        if password_mark(current) != mark:
            raise Unauthorized(LINK_ENDED)  # another request with the link was first
        # Whoever passed the link on may have used it.
        return replace(current, password_hash=hashed, email_proved=is_mailed)

    store, sign_ins = store_of_person(dependencies, account), dependencies.sign_ins
    await dependencies.in_registry(lambda: store.revise(account, now, renewed))
    await dependencies.refresh_registry()
    await dependencies.in_registry(lambda: sign_ins.end_sessions(account.id))
    return uncached(json_response(NewPasswordResponse(success=True, email=account.email)))


async def _invited(dependencies: QueryDependencies, text: str) -> tuple[SignedToken, Member]:
    """The member that a valid link invites; Unauthorized."""
    token = dependencies.sign_ins.find(text, TokenKind.INVITATION)
    if token is None:
        raise Unauthorized(LINK_ENDED)
    member_id = token.subject.partition("-")[0]
    try:
        member = await dependencies.in_registry(lambda: dependencies.store.get(Member, member_id))
    except RecordNotFound:
        raise Unauthorized(LINK_ENDED) from None
    if member.account_id is not None or member.invitation != token.id:
        raise Unauthorized(LINK_ENDED)
    await dependencies.refresh_registry()
    return token, member


NO_MAIL = (
    "No mail is sent here; ask somebody who manages people, or the operator: `tidemark people`"
)
_ERRORS = (*KEY_ERRORS, *BODY_ERRORS)
ENDPOINTS = (
    quiet_refusals(
        QueryEndpoint(
            open_invitation,
            openapi.Operation(
                method="POST",
                path="/v1/invitations/open",
                operation_id="openInvitation",
                tag="Sign-in",
                summary="Show what a link is an invitation to",
                parameters=(REQUEST_PARAMETER,),
                body=InvitationBody,
                responses=(openapi.Response(200, "the invitation", InvitationResponse),),
                errors=_ERRORS,
                security=({},),
            ),
        )
    ),
    quiet_refusals(
        QueryEndpoint(
            accept_invitation,
            openapi.Operation(
                method="POST",
                path="/v1/invitations/accept",
                operation_id="acceptInvitation",
                tag="Sign-in",
                summary="Accept an invitation, and sign in",
                description="Makes an account with this password; a person who has one gives its "
                "password, and `code` where it has a second factor.",
                parameters=(REQUEST_PARAMETER,),
                body=Acceptance,
                responses=(
                    openapi.Response(200, "signed in", MeResponse, headers=("Set-Cookie",)),
                ),
                errors=(*_ERRORS, SecondFactorRequired),
                security=({},),
            ),
        )
    ),
    quiet_refusals(
        QueryEndpoint(
            forgot_password,
            openapi.Operation(
                method="POST",
                path="/v1/sign-in/reset",
                operation_id="forgetPassword",
                tag="Sign-in",
                summary="Mail a link that sets a new password, if the account exists",
                parameters=(REQUEST_PARAMETER,),
                body=ResetBody,
                responses=(openapi.Response(202, "mailed if it exists", SuccessResponse),),
                errors=_ERRORS,
                security=({},),
            ),
        )
    ),
    quiet_refusals(
        QueryEndpoint(
            set_password,
            openapi.Operation(
                method="POST",
                path="/v1/sign-in/password",
                operation_id="setPassword",
                tag="Sign-in",
                summary="Set a new password with the token of a link",
                description="Ends all sessions of the account, and the link.",
                parameters=(REQUEST_PARAMETER,),
                body=NewPassword,
                responses=(openapi.Response(200, "set", NewPasswordResponse),),
                errors=_ERRORS,
                security=({},),
            ),
        )
    ),
)
