"""People of the organization: invite, list, change, remove; help those who cannot sign in.

Only owners make, change and remove owners, and the last one stays.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.responses import Response

from query.resources.pagination import page_parameters
from query.resources.person_sign_in import memberships, normal_email, send_invitation, send_reset
from query.resources.resource import (
    Access,
    Action,
    Call,
    Create,
    Created,
    List,
    Resource,
    Show,
    Update,
    endpoints,
    given_members,
)
from query.response.bodies import SuccessResponse, response_types
from query.response.json_response import json_response, uncached
from query.sign_in.person_links import SentLink
from schemas.errors import Conflict, Forbidden, Malformed
from schemas.http import openapi
from schemas.http.auth import authorize_website
from schemas.registry import Account, KeyScope, Member
from schemas.registry.ids import random_id
from schemas.registry.people import WEBSITE_ROLES, PersonKey
from schemas.registry.record_limits import MAX_RECORDS
from schemas.registry.validation import validate_email, validate_name
from schemas.runtime.clock import format_instant
from schemas.runtime.roles import ROLES, Role

Email = Annotated[str, Meta(min_length=3, max_length=254)]
Name = Annotated[str, Meta(max_length=255)]
RoleName = Annotated[
    str | None,
    Meta(
        description="role in the whole organization; null: on some websites only",
        extra_json_schema={"enum": [*ROLES, None]},
    ),
]
WebsiteRoles = Annotated[
    dict[str, str],
    Meta(
        description="roles by website id, which add to that one",
        extra_json_schema={"additionalProperties": {"enum": list(WEBSITE_ROLES)}},
    ),
]


class NewPerson(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The body that invites a person."""

    email: Email
    name: Name = ""
    role: RoleName = None
    website_roles: WebsiteRoles = {}


class PersonChanges(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The body that changes the roles of a person: absent fields stay."""

    role: RoleName | UnsetType = UNSET
    website_roles: WebsiteRoles | UnsetType = UNSET


class Person(Struct, rename="camel", kw_only=True):
    """A person of the organization, or one who is invited."""

    id: str
    organization_id: str
    email: str
    name: str
    role: RoleName
    website_roles: WebsiteRoles
    state: Literal["invited", "active"]
    second_factor: Annotated[bool, Meta(description="whether sign-in needs a one-time code")]
    last_sign_in_at: str | None
    created_at: str
    updated_at: str


class InvitedPerson(Person, kw_only=True):
    """A person who is invited, with the invitation."""

    invitation: SentLink


class InvitedPersonResponse(Struct):
    """One invited person."""

    success: Literal[True]
    data: InvitedPerson


class SentLinkResponse(Struct):
    """A link that was mailed, or is to be passed on."""

    success: Literal[True]
    data: SentLink


def person(call: Call, member: Member) -> Person:
    """A person as responses show it."""
    account = call.dependencies.registry.accounts.get(member.account_id or "")
    return Person(
        id=member.id,
        organization_id=member.organization_id,
        email=member.email,
        name=(account and account.name) or member.name,
        role=member.role,
        website_roles=dict(member.website_roles),
        state="invited" if account is None else "active",
        second_factor=account is not None and account.second_factor,
        last_sign_in_at=format_instant(member.last_sign_in_at),
        created_at=str(format_instant(member.created_at)),
        updated_at=str(format_instant(member.updated_at)),
    )


async def invite(call: Call) -> Created:
    """A new member, who has no access before the invitation is accepted."""
    body, now = await call.body(NewPerson), call.now_ms
    inviter = call.key.account.email if isinstance(call.key, PersonKey) else call.key.name
    _require_role(body.role, body.website_roles)
    _check_roles(call, body.role, body.website_roles)
    store, email = call.dependencies.store, validate_email(normal_email(body.email))
    owner = call.key.organization_id
    there = await call.dependencies.in_registry(
        lambda: store.count(Member, organization_id=owner, email=email)
    )
    if there:
        raise Conflict(f"{email} is here already, or invited: change the roles, or invite again")
    return Created(
        Member(
            id=random_id(12),
            organization_id=owner,
            email=email,
            name=body.name and validate_name("name", body.name),
            role=body.role,
            website_roles=body.website_roles,
            invitation=random_id(16),
            invited_by=inviter,
            created_at=now,
            updated_at=now,
        )
    )


async def mail_invitation(call: Call, member: Member) -> dict[str, object]:
    """The invitation of a new member."""
    return {"invitation": await send_invitation(call.dependencies, member)}


def changed_roles(call: Call, body: PersonChanges) -> dict[str, Any]:
    """Validated roles."""
    changes = given_members(body)
    member = call.dependencies.registry.members.get(call.request.path_params["person_id"])
    role = changes.get("role", member and member.role)
    _check_roles(call, changes.get("role"), changes.get("website_roles", {}))
    if member is not None:
        _require_role(role, changes.get("website_roles", member.website_roles))
    return changes


async def remove(call: Call, member: Member) -> Response:
    """DELETE: what the person had access to here ends at once; so does an account without any."""
    await call.write(Member, lambda store: store.remove_member(member.id))
    return json_response(SuccessResponse(success=True))


async def invite_again(call: Call, member: Member) -> Response:
    """POST: a new link; the one before is not valid any more."""
    if member.account_id is not None:
        raise Conflict(f"{member.email} has accepted the invitation")
    now = call.now_ms
    renewed = await call.write(
        Member, lambda store: store.update(Member, member.id, now, invitation=random_id(16))
    )
    return _sent(await send_invitation(call.dependencies, renewed))


async def reset_password(call: Call, member: Member) -> Response:
    """POST: a link that sets a new password."""
    account = await _account_here(call, member)
    await call.write(Member, lambda store: store.note(member, "password_reset"))
    return _sent(await send_reset(call.dependencies, account))


async def sign_out_person(call: Call, member: Member) -> Response:
    """POST: end all sessions of the person."""
    if member.account_id is not None:
        account_id, sign_ins = member.account_id, call.dependencies.sign_ins
        await call.write(Member, lambda store: store.note(member, "sessions"))
        await call.dependencies.in_registry(lambda: sign_ins.end_sessions(account_id))
    return json_response(SuccessResponse(success=True))


async def remove_second_factor(call: Call, member: Member) -> Response:
    """DELETE: the person signs in by password alone, and may set up another one."""
    account = await _account_here(call, member)
    now = call.now_ms
    nothing: dict[str, Any] = {"second_factor": False, "totp_secret": None, "recovery_hashes": ()}
    await call.write(Member, lambda store: store.note(member, "second_factor"))
    await call.write(Account, lambda store: store.update(Account, account.id, now, **nothing))
    return json_response(SuccessResponse(success=True))


def check_owner(call: Call, member: Member) -> None:
    """Forbidden when the record is that of an owner, and the caller is none."""
    if member.role == Role.OWNER and not _is_owner(call):
        raise Forbidden(ONLY_OWNERS)


async def _account_here(call: Call, member: Member) -> Account:
    """The account of another person, who belongs to this organization only."""
    if isinstance(call.key, PersonKey) and call.key.member.id == member.id:
        raise Conflict("This is you: change it in your account, with your password or a code")
    if member.account_id is None:
        raise Conflict(f"{member.email} has not accepted the invitation yet; invite them again")
    dependencies, account_id = call.dependencies, member.account_id
    if len(memberships(dependencies.registry, account_id)) > 1:
        raise Conflict(
            f"{member.email} belongs to another organization too: they reset it themselves, or "
            "the operator does with `tidemark people`"
        )
    return await dependencies.in_registry(lambda: dependencies.store.get(Account, account_id))


def _sent(link: SentLink) -> Response:
    return uncached(json_response(SentLinkResponse(success=True, data=link)))


def _require_role(role: str | None, website_roles: dict[str, str]) -> None:
    if role is None and not website_roles:
        raise Malformed("Give 'role', or 'websiteRoles' with at least one website")


def _check_roles(call: Call, role: str | None, website_roles: dict[str, str]) -> None:
    """Malformed for an unknown role; Forbidden for what the caller may not give."""
    if role is not None and role not in ROLES:
        raise Malformed(f"'role' is '{role[:40]}'; use one of {', '.join(ROLES)}, or null")
    if role == Role.OWNER and not _is_owner(call):
        raise Forbidden(ONLY_OWNERS)
    for website_id, website_role in website_roles.items():
        if website_role not in WEBSITE_ROLES:
            raise Malformed(
                f"'websiteRoles.{website_id[:40]}' is '{website_role[:40]}'; use one of "
                f"{', '.join(WEBSITE_ROLES)}"
            )
        authorize_website(call.dependencies.registry, call.key, website_id)


def _is_owner(call: Call) -> bool:
    return isinstance(call.key, PersonKey) and call.key.member.role == Role.OWNER


ONLY_OWNERS = "Only an owner of the organization makes, changes or removes owners"
ADMIN = Access((KeyScope.ADMIN,), whole_organization=True)
ONE, PAGE = response_types("Person", "person", "people", Person)
LINK = openapi.Response(200, "the link", SentLinkResponse)
DONE = openapi.Response(200, "done", SuccessResponse)
PEOPLE = Resource(
    record=Member,
    path="/v1/people",
    tag="People",
    word="person",
    id_name="person_id",
    shows=person,
    one=ONE,
    page=PAGE,
    create=Create(
        body=NewPerson,
        make=invite,
        after=mail_invitation,
        response=openapi.Response(201, "the person, with the invitation", InvitedPersonResponse),
        access=ADMIN,
        operation_id="invitePerson",
        summary="Invite a person; the link is mailed, or shown once",
        description="The key needs `admin` and must not be restricted to one website. The link is "
        f"valid for seven days. An organization has at most {MAX_RECORDS[Member]:,} people.",
        examples={
            "a colleague": {"email": "anna@shop.example", "role": "analyst"},
            "a client": {"email": "client@agency.example", "websiteRoles": {"shop": "viewer"}},
        },
    ),
    list=List(
        where=lambda call: {"organization_id": call.key.organization_id},
        access=ADMIN,
        operation_id="listPeople",
        summary="List people, oldest first",
        parameters=page_parameters("people"),
    ),
    show=Show(access=ADMIN, operation_id="showPerson", summary="Show a person"),
    update=Update(
        body=PersonChanges,
        changes=changed_roles,
        check=check_owner,
        access=ADMIN,
        operation_id="changePerson",
        summary="Change the roles of a person",
        examples={"a role": {"role": "admin"}},
        errors=(Conflict,),
    ),
    actions=(
        Action(
            method="DELETE",
            access=ADMIN,
            check=check_owner,
            run=remove,
            operation_id="removePerson",
            summary="Remove a person: access ends at once, personal API keys too",
            response=openapi.Response(200, "removed", SuccessResponse),
            errors=(Conflict,),
        ),
        Action(
            access=ADMIN,
            check=check_owner,
            run=invite_again,
            path="/invitation",
            operation_id="invitePersonAgain",
            summary="Make a new invitation link; the one before ends",
            response=LINK,
            errors=(Conflict,),
        ),
        Action(
            access=ADMIN,
            check=check_owner,
            run=reset_password,
            path="/password-reset",
            operation_id="resetPasswordOfPerson",
            summary="Make a link that sets a new password, valid for an hour",
            response=LINK,
            errors=(Conflict,),
        ),
        Action(
            access=ADMIN,
            check=check_owner,
            run=sign_out_person,
            path="/sign-out",
            operation_id="signOutPerson",
            summary="End all sessions of a person",
            response=DONE,
        ),
        Action(
            method="DELETE",
            access=ADMIN,
            check=check_owner,
            run=remove_second_factor,
            path="/second-factor",
            operation_id="removeSecondFactorOfPerson",
            summary="Remove the second factor of a person who has lost it",
            response=DONE,
            errors=(Conflict,),
        ),
    ),
)
ENDPOINTS = tuple(endpoints(PEOPLE))
