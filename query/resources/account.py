"""`/v1/account`: the account of the person who is signed in: password, second factor, sessions.

Only a session of a browser reaches it: no API key does, not even a personal one.
"""

from functools import partial
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import BODY_ERRORS, KEY_ERRORS, QueryDependencies, QueryEndpoint
from query.request.body import read_json
from query.request.query_string import strict_query_string
from query.resources.invitations import account_with_password, hash_new_password
from query.resources.person_sign_in import (
    CHECKS,
    TOTP_PURPOSE,
    begin_session,
    change_account,
    count_attempt,
    membership,
    memberships,
    normal_email,
    store_of_person,
    totp_secret,
    verify_code,
)
from query.resources.quiet_refusals import quiet_refusals
from query.resources.resource import Call
from query.resources.sign_in import NO_PASSWORDS, MeResponse, me_response
from query.response.json_response import json_response, uncached
from query.sign_in.hashing import matches
from query.sign_in.session_cookie import set_session_cookie
from schemas.errors import Conflict, Forbidden, Malformed, NotFound, SecondFactorRequired
from schemas.http import openapi
from schemas.plans import Group
from schemas.registry import Account, Key, KeyScope, Member
from schemas.registry.ids import random_id
from schemas.registry.people import PersonKey
from schemas.registry.sealing import seal
from schemas.registry.second_factor import (
    enrolment_uri,
    matching_step,
    new_recovery_codes,
    new_secret,
    qr_svg,
)
from schemas.registry.sign_ins import Way, subject_of, way_of_subject
from schemas.registry.signed_tokens import SignedToken
from schemas.registry.validation import validate_email, validate_name
from schemas.runtime.clock import format_instant
from schemas.runtime.roles import Role

Password = Annotated[str, Meta(min_length=1, max_length=200)]
Code = Annotated[str, Meta(min_length=1, max_length=40)]


class FirstOwner(Struct, frozen=True, forbid_unknown_fields=True):
    """The account of the first owner."""

    email: Annotated[str, Meta(min_length=3, max_length=254)]
    password: Password
    name: Annotated[str, Meta(max_length=255)] = ""


class AccountChanges(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The body that changes the account: absent fields stay."""

    name: Annotated[str, Meta(max_length=255)] | UnsetType = UNSET
    current_password: Password | UnsetType = UNSET
    new_password: Password | UnsetType = UNSET


class SecondFactorStart(Struct, frozen=True, forbid_unknown_fields=True):
    """The password of the account, if it has one."""

    password: Password | UnsetType = UNSET


class SecondFactorCode(Struct, frozen=True, forbid_unknown_fields=True):
    """A code of the authenticator app, or a recovery code."""

    code: Code


class OtherOrganization(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The organization to go to."""

    organization_id: Annotated[str, Meta(min_length=1, max_length=64)]


class AccountOrganization(Struct, rename="camel"):
    """An organization that the person belongs to."""

    id: str
    name: str
    role: str | None
    current: bool


class AccountResource(Struct, rename="camel"):
    """The account of the person."""

    email: str
    name: str
    has_password: bool
    second_factor: bool
    recovery_codes: Annotated[int, Meta(description="unused ones")]
    second_factor_required: Annotated[bool, Meta(description="by the organization")]
    organizations: list[AccountOrganization]


class AccountResponse(Struct):
    """The account of the person."""

    success: Literal[True]
    data: AccountResource


class Enrolment(Struct):
    """A second factor that is not in use yet."""

    secret: Annotated[str, Meta(description="for apps that cannot read the image")]
    uri: str
    qr: Annotated[str, Meta(description="image of the URI: a data URI of an SVG")]


class EnrolmentResponse(Struct):
    """A second factor that is not in use yet."""

    success: Literal[True]
    data: Enrolment


class RecoveryCodes(Struct, rename="camel"):
    """Each signs in once instead of a code of the app; they are not shown again."""

    recovery_codes: list[str]


class RecoveryCodesResponse(Struct):
    """Recovery codes of a new second factor."""

    success: Literal[True]
    data: RecoveryCodes


class SessionResource(Struct, rename="camel"):
    """A browser in which the person is signed in."""

    id: str
    current: Annotated[bool, Meta(description="whether the request came from it")]
    way: Annotated[str, Meta(description="password, oidc or proxy")]
    browser: str
    network: str
    created_at: str
    last_seen_at: Annotated[str, Meta(description="exact to a minute or two")]
    expires_at: str


class SessionsResponse(Struct):
    """Sessions of the person, newest first."""

    success: Literal[True]
    data: list[SessionResource]


class SignedInPerson(Struct, frozen=True):
    """The person of a request, read from the registry itself, with the session."""

    rights: PersonKey
    account: Account
    session: SignedToken


async def make_first_owner(dependencies: QueryDependencies, request: Request) -> Response:
    """POST: whoever holds an admin key of an organization without owner becomes its owner."""
    key = await dependencies.authorize(request, KeyScope.ADMIN, Group.RECORDS)
    if isinstance(key, PersonKey) or key.website_id is not None:
        raise Forbidden(NOT_FOR_OWNERS)
    if not dependencies.access.password_sign_in:
        raise Forbidden(NO_PASSWORDS)
    body = await read_json(request, FirstOwner)
    now = dependencies.clock()
    email = validate_email(normal_email(body.email))
    account = await account_with_password(dependencies, email, body.name, body.password)
    member = Member(
        id=random_id(12),
        organization_id=key.organization_id,
        account_id=account.id,
        email=email,
        role=Role.OWNER.value,
        created_at=now,
        updated_at=now,
    )
    call = Call(dependencies, request, key)
    await call.write(Member, lambda store: store.make_first_owner(account, member))
    respond = partial(me_response, dependencies)
    response = await begin_session(dependencies, request, respond, member, Way.PASSWORD)
    response.status_code = 201
    return response


async def show_account(dependencies: QueryDependencies, request: Request) -> Response:
    """GET."""
    return _shown(dependencies, await signed_in_person(dependencies, request))


async def change_own_account(dependencies: QueryDependencies, request: Request) -> Response:
    """PATCH: a new password ends all other sessions."""
    person = await signed_in_person(dependencies, request)
    body = await read_json(request, AccountChanges)
    account, changes = person.account, dict[str, Any]()
    if isinstance(body.name, str):
        changes["name"] = body.name and validate_name("name", body.name)
    if isinstance(body.new_password, str):
        await _require_password(request, account, body.current_password)
        changes["password_hash"] = await hash_new_password(body.new_password, account.email)
    if changes:
        account = await change_account(dependencies, account, **changes)
    if "password_hash" in changes:
        await _note(dependencies, person, "password")
        await _end_others(dependencies, person)
    return _shown(dependencies, SignedInPerson(person.rights, account, person.session))


async def switch_organization(dependencies: QueryDependencies, request: Request) -> Response:
    """POST: the same session goes on in another organization of the person."""
    person = await signed_in_person(dependencies, request)
    body = await read_json(request, OtherOrganization)
    member = membership(dependencies, person.account, body.organization_id)
    way = way_of_subject(person.session.subject) or Way.PASSWORD
    session = person.session
    token = SignedToken(session.kind, session.id, subject_of(way, member.id), session.ends_at)
    sign_ins = dependencies.sign_ins
    rights = sign_ins.key_of(token, dependencies.registry)
    response = me_response(dependencies, rights, token.ends_at)
    seconds = (token.ends_at - dependencies.clock()) // 1000
    set_session_cookie(response, request, sign_ins.sign(token), seconds)
    return response


async def begin_second_factor(dependencies: QueryDependencies, request: Request) -> Response:
    """POST: a new secret, which a code has to confirm."""
    person = await signed_in_person(dependencies, request)
    body = await read_json(request, SecondFactorStart)
    account = person.account
    if account.second_factor:
        raise Conflict(HAS_SECOND_FACTOR)
    await _require_password(request, account, body.password)
    secret = new_secret()
    sealed = seal(secret, dependencies.sign_ins.secret, TOTP_PURPOSE)
    await change_account(dependencies, account, totp_secret=sealed)
    uri = enrolment_uri(secret, account.email)
    data = Enrolment(secret, uri, qr_svg(uri))
    return uncached(json_response(EnrolmentResponse(success=True, data=data)))


async def confirm_second_factor(dependencies: QueryDependencies, request: Request) -> Response:
    """PUT: the second factor is in use from now on, and other sessions end."""
    person = await signed_in_person(dependencies, request)
    body = await read_json(request, SecondFactorCode)
    account = person.account
    if account.second_factor:
        raise Conflict(HAS_SECOND_FACTOR)
    step = matching_step(totp_secret(dependencies, account), body.code, dependencies.clock())
    if step is None:
        raise Malformed("'code' is not the one that the app shows now; are its clock and ours set?")
    texts, hashes = new_recovery_codes()
    confirmed: dict[str, Any] = {"totp_step": step, "recovery_hashes": tuple(hashes)}
    await change_account(dependencies, account, second_factor=True, **confirmed)
    await _note(dependencies, person, "second_factor")
    await _end_others(dependencies, person)
    data = RecoveryCodes(texts)
    return uncached(json_response(RecoveryCodesResponse(success=True, data=data)))


async def end_second_factor(dependencies: QueryDependencies, request: Request) -> Response:
    """DELETE: with a code of it, or a recovery code."""
    person = await signed_in_person(dependencies, request)
    body = await read_json(request, SecondFactorCode)
    account = person.account
    if not account.second_factor:
        raise NotFound("There is no second factor")
    await verify_code(dependencies, request, account, body.code)
    nothing: dict[str, Any] = {"totp_secret": None, "recovery_hashes": ()}
    await change_account(dependencies, account, second_factor=False, **nothing)
    await _note(dependencies, person, "second_factor")
    return Response(status_code=204)


async def renew_recovery_codes(dependencies: QueryDependencies, request: Request) -> Response:
    """POST: ten new codes, with a code of the app; those of before are not valid any more."""
    person = await signed_in_person(dependencies, request)
    body = await read_json(request, SecondFactorCode)
    account = person.account
    if not account.second_factor:
        raise NotFound("There is no second factor")
    await verify_code(dependencies, request, account, body.code)
    texts, hashes = new_recovery_codes()
    await change_account(dependencies, account, recovery_hashes=tuple(hashes))
    await _note(dependencies, person, "recovery_codes")
    data = RecoveryCodes(texts)
    return uncached(json_response(RecoveryCodesResponse(success=True, data=data)))


async def list_sessions(dependencies: QueryDependencies, request: Request) -> Response:
    """GET."""
    person = await signed_in_person(dependencies, request)
    account_id, sign_ins = person.account.id, dependencies.sign_ins
    sessions = await dependencies.in_registry(lambda: sign_ins.sessions_of(account_id))
    data = [
        SessionResource(
            session.id,
            session.id == person.session.id,
            session.way,
            session.browser,
            session.network,
            str(format_instant(session.created_at)),
            str(format_instant(session.last_seen_at)),
            str(format_instant(session.ends_at)),
        )
        for session in sessions
    ]
    return json_response(SessionsResponse(success=True, data=data))


async def end_session(dependencies: QueryDependencies, request: Request) -> Response:
    """DELETE of one session of the person."""
    person = await signed_in_person(dependencies, request)
    account_id, sign_ins = person.account.id, dependencies.sign_ins
    ended_id = request.path_params["session_id"]
    if not await dependencies.in_registry(lambda: sign_ins.end_session(account_id, ended_id)):
        raise NotFound("No such session")
    return Response(status_code=204)


async def end_other_sessions(dependencies: QueryDependencies, request: Request) -> Response:
    """DELETE of all but the present one."""
    await _end_others(dependencies, await signed_in_person(dependencies, request))
    return Response(status_code=204)


async def signed_in_person(dependencies: QueryDependencies, request: Request) -> SignedInPerson:
    """The person of the session cookie; Forbidden for keys."""
    rights: Key = dependencies.identify(request)
    session = None if dependencies.api_key_text(request) else dependencies.sign_ins.session(request)
    if not isinstance(rights, PersonKey) or rights.way is None or session is None:
        raise Forbidden(PEOPLE_ONLY)
    await dependencies.count_request(request, rights, Group.RECORDS)
    account_id, store = rights.account.id, dependencies.store
    account = await dependencies.in_registry(lambda: store.get(Account, account_id))
    return SignedInPerson(rights, account, session)


async def _require_password(request: Request, account: Account, password: str | UnsetType) -> None:
    """Malformed unless it is the password of the account, if it has one."""
    if account.password_hash is None:
        return
    if not isinstance(password, str):
        raise Malformed("Give the password that the account has now")
    await count_attempt(request, CHECKS, account.id)
    if not await matches(password, account.password_hash):
        raise Malformed(PASSWORD_WRONG)


async def _note(dependencies: QueryDependencies, person: SignedInPerson, *fields: str) -> None:
    """Show in the audit trail of the organization what the person changed."""
    store, member = store_of_person(dependencies, person.account), person.rights.member
    await dependencies.in_registry(lambda: store.note(member, *fields))


async def _end_others(dependencies: QueryDependencies, person: SignedInPerson) -> None:
    account_id, session_id = person.account.id, person.session.id
    sign_ins = dependencies.sign_ins
    await dependencies.in_registry(lambda: sign_ins.end_sessions(account_id, session_id))


def _shown(dependencies: QueryDependencies, person: SignedInPerson) -> Response:
    registry, account, current = dependencies.registry, person.account, person.rights.member
    organizations = [
        AccountOrganization(
            member.organization_id,
            registry.organizations[member.organization_id].name,
            member.role,
            member.id == current.id,
        )
        for member in memberships(registry, account.id)
    ]
    data = AccountResource(
        email=account.email,
        name=account.name,
        has_password=account.password_hash is not None,
        second_factor=account.second_factor,
        recovery_codes=len(account.recovery_hashes),
        second_factor_required=registry.organizations[
            current.organization_id
        ].require_second_factor,
        organizations=organizations,
    )
    return uncached(json_response(AccountResponse(success=True, data=data)))


PEOPLE_ONLY = "Only a person who is signed in with a browser has an account; this is an API key"
NOT_FOR_OWNERS = "The first owner is made with an API key of the whole organization"
HAS_SECOND_FACTOR = "There is a second factor; remove it first"
PASSWORD_WRONG = "The password is wrong"  # noqa: S105 - a message
_ERRORS = (*KEY_ERRORS, *BODY_ERRORS)


def _operation(
    method: str, path: str, operation_id: str, summary: str, response: openapi.Response, **more: Any
) -> openapi.Operation:
    return openapi.Operation(
        method=method,
        path=f"/v1/account{path}",
        operation_id=operation_id,
        tag="Account",
        summary=summary,
        responses=(response,),
        **{"errors": _ERRORS, **more},
    )


_SESSION_ID = openapi.Parameter("session_id", "the session", required=True, location="path")
ENDPOINTS = (
    strict_query_string(
        QueryEndpoint(
            make_first_owner,
            _operation(
                "POST",
                "",
                "makeFirstOwner",
                "Become the first owner of the organization of an admin key",
                openapi.Response(201, "signed in", MeResponse, headers=("Set-Cookie",)),
                body=FirstOwner,
                errors=(*_ERRORS, Conflict),
            ),
        )
    ),
    strict_query_string(
        QueryEndpoint(
            show_account,
            _operation(
                "GET",
                "",
                "showAccount",
                "Show the account of the person who is signed in",
                openapi.Response(200, "the account", AccountResponse),
                errors=KEY_ERRORS,
            ),
        )
    ),
    strict_query_string(
        QueryEndpoint(
            change_own_account,
            _operation(
                "PATCH",
                "",
                "changeAccount",
                "Change name or password; a new password ends all other sessions",
                openapi.Response(200, "the account", AccountResponse),
                body=AccountChanges,
            ),
        )
    ),
    strict_query_string(
        QueryEndpoint(
            switch_organization,
            _operation(
                "POST",
                "/organization",
                "switchOrganization",
                "Go to another organization of the person",
                openapi.Response(200, "signed in", MeResponse, headers=("Set-Cookie",)),
                body=OtherOrganization,
            ),
        )
    ),
    strict_query_string(
        QueryEndpoint(
            begin_second_factor,
            _operation(
                "POST",
                "/second-factor",
                "beginSecondFactor",
                "Make the secret of a second factor, not in use before it is confirmed",
                openapi.Response(200, "the secret", EnrolmentResponse),
                body=SecondFactorStart,
                errors=(*_ERRORS, Conflict),
            ),
        )
    ),
    strict_query_string(
        QueryEndpoint(
            confirm_second_factor,
            _operation(
                "PUT",
                "/second-factor",
                "confirmSecondFactor",
                "Confirm the second factor with a code; other sessions end",
                openapi.Response(200, "recovery codes, once", RecoveryCodesResponse),
                body=SecondFactorCode,
                errors=(*_ERRORS, Conflict),
            ),
        )
    ),
    quiet_refusals(
        QueryEndpoint(
            end_second_factor,
            _operation(
                "DELETE",
                "/second-factor",
                "endSecondFactor",
                "Remove the second factor",
                openapi.Response(204, "removed"),
                body=SecondFactorCode,
                errors=(*_ERRORS, NotFound, SecondFactorRequired),
            ),
        )
    ),
    quiet_refusals(
        QueryEndpoint(
            renew_recovery_codes,
            _operation(
                "POST",
                "/second-factor/recovery-codes",
                "renewRecoveryCodes",
                "Make new recovery codes, with a code",
                openapi.Response(200, "recovery codes, once", RecoveryCodesResponse),
                body=SecondFactorCode,
                errors=(*_ERRORS, NotFound, SecondFactorRequired),
            ),
        )
    ),
    strict_query_string(
        QueryEndpoint(
            list_sessions,
            _operation(
                "GET",
                "/sessions",
                "listSessions",
                "List the browsers in which the person is signed in, newest first",
                openapi.Response(200, "the sessions", SessionsResponse),
                errors=KEY_ERRORS,
            ),
        )
    ),
    strict_query_string(
        QueryEndpoint(
            end_other_sessions,
            _operation(
                "DELETE",
                "/sessions",
                "endOtherSessions",
                "End all sessions of the person but the present one",
                openapi.Response(204, "ended"),
                errors=KEY_ERRORS,
            ),
        )
    ),
    strict_query_string(
        QueryEndpoint(
            end_session,
            _operation(
                "DELETE",
                "/sessions/{session_id}",
                "endSession",
                "End a session of the person",
                openapi.Response(204, "ended"),
                parameters=(_SESSION_ID,),
                errors=(*KEY_ERRORS, NotFound),
            ),
        )
    ),
)
