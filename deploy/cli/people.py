"""`tidemark people`: invite people, change what they may do, and help those who cannot sign in."""

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import click
from msgspec import structs

from deploy.cli.context import (
    CliContext,
    as_json,
    combine_options,
    print_record,
    print_rows,
)
from deploy.cli.record_commands import organization_option
from schemas.registry import (
    Account,
    Member,
    Organization,
    RecordConflict,
    RecordNotFound,
    RegistryStore,
    Website,
)
from schemas.registry.ids import random_id
from schemas.registry.people import WEBSITE_ROLES
from schemas.registry.signed_tokens import sign
from schemas.registry.validation import validate_email, validate_name
from schemas.runtime.clock import format_instant, now_ms
from schemas.runtime.roles import ROLES
from schemas.runtime.service_urls import public_query_url

if TYPE_CHECKING:
    from query.sign_in.person_links import PersonLinks
    from schemas.mail.mailer import Mailer

INVITER = "The operator"
"""Who invites, as the mail says."""
COLUMNS = ("organizationId", "email", "name", "role", "websiteRoles", "state", "lastSignInAt")
NO_MEMBER = "there is nobody with the address '{email}' here; see `tidemark people list`"
NO_ACCOUNT = "'{email}' has no account; see `tidemark people list`, and invite them"


def _parse_website_roles(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    roles = {}
    for value in values:
        website_id, _, role = value.rpartition("=")
        if not website_id or role not in WEBSITE_ROLES:
            raise click.BadParameter(
                f"'{value}' is not ID=ROLE, with a role of {', '.join(WEBSITE_ROLES)}"
            )
        roles[website_id] = role
    return roles


def _normal_email(_context: click.Context, _option: click.Parameter, value: str) -> str:
    return value.strip().lower()


email_argument = click.argument("email", metavar="EMAIL", callback=_normal_email)
one_organization_option = click.option(
    "--organization", metavar="ID", help="Organization id. Needed for who belongs to several."
)
role_option = click.option(
    "--role", type=click.Choice(ROLES), help="Role in the whole organization."
)
website_option = click.option(
    "--website",
    "website_roles",
    metavar="ID=ROLE",
    multiple=True,
    callback=_parse_website_roles,
    help=f"Role on one website ({', '.join(WEBSITE_ROLES)}); repeat for several.",
)


@click.group()
def people() -> None:
    """Invite people, change what they may do, and help those who cannot sign in."""


@people.command("list")
@click.option("--organization", metavar="ID", help="Only people of this organization.")
@as_json
@click.pass_obj
def list_people(tidemark: CliContext, organization: str | None, json: bool) -> None:
    """List people and open invitations, oldest first."""
    with tidemark.open_registry() as store:
        accounts = {account.id: account for account in store.list(Account)}
        members = store.list(Member, organization_id=organization)
    rows = [_person(member, accounts.get(member.account_id or "")) for member in members]
    print_rows(rows, COLUMNS, json)


@people.command()
@email_argument
@combine_options(organization_option, role_option, website_option)
@click.option("--name", default="", help="Name of the person.")
@as_json
@click.pass_obj
def invite(
    tidemark: CliContext,
    email: str,
    organization: str,
    role: str | None,
    website_roles: dict[str, str],
    name: str,
    json: bool,
) -> None:
    """Invite a person to an organization.

    The link is mailed when TIDEMARK_SMTP_URL is set, and printed otherwise: pass it on yourself. It
    works once, within seven days. The first owner of an organization is invited here: --role owner.
    """
    now = now_ms()
    with tidemark.open_registry() as store:
        _check_roles(store, organization, role, website_roles)
        member = Member(
            id=random_id(12),
            organization_id=store.get(Organization, organization).id,
            email=validate_email(email),
            name=name and validate_name("name", name),
            role=role,
            website_roles=website_roles,
            invitation=random_id(16),
            invited_by=INVITER,
            created_at=now,
            updated_at=now,
        )
        try:
            store.create(member)
        except RecordConflict:
            raise click.UsageError(
                f"'{email}' is in organization '{organization}' already; `tidemark people "
                "invite-again` makes a new link, `update` changes roles"
            ) from None
        sent = _send_invitation(tidemark, store, member)
    print_record({**_person(member, None), **sent}, json)


@people.command("invite-again")
@email_argument
@one_organization_option
@as_json
@click.pass_obj
def invite_again(tidemark: CliContext, email: str, organization: str | None, json: bool) -> None:
    """Make a new link for an invitation; the one before ends."""
    with tidemark.open_registry() as store:
        member = _member(store, email, organization)
        if member.account_id is not None:
            raise click.UsageError(f"'{email}' has accepted the invitation")
        member = store.update(Member, member.id, now_ms(), invitation=random_id(16))
        sent = _send_invitation(tidemark, store, member)
    print_record({**_person(member, None), **sent}, json)


@people.command()
@email_argument
@combine_options(one_organization_option, role_option)
@click.option("--no-role", is_flag=True, help="No role in the whole organization.")
@website_option
@click.option("--no-websites", is_flag=True, help="No roles on single websites.")
@as_json
@click.pass_obj
def update(
    tidemark: CliContext,
    email: str,
    organization: str | None,
    role: str | None,
    no_role: bool,
    website_roles: dict[str, str],
    no_websites: bool,
    json: bool,
) -> None:
    """Change the roles of a person; --website replaces all roles on single websites."""
    if (role and no_role) or (website_roles and no_websites):
        raise click.UsageError("give a role or its --no- option, not both")
    changes: dict[str, Any] = {}
    if role or no_role:
        changes["role"] = role
    if website_roles or no_websites:
        changes["website_roles"] = website_roles
    if not changes:
        raise click.UsageError("nothing to change; give at least one option")
    with tidemark.open_registry() as store:
        member = _member(store, email, organization)
        new_role = changes.get("role", member.role)
        new_website_roles = changes.get("website_roles", member.website_roles)
        _check_roles(store, member.organization_id, new_role, new_website_roles)
        member = store.update(Member, member.id, now_ms(), **changes)
        shown = _person(member, _account_of(store, member))
    print_record(shown, json)


@people.command()
@email_argument
@one_organization_option
@click.option("--yes", is_flag=True, help="Skip the confirmation (never asked without a terminal).")
@as_json
@click.pass_obj
def remove(
    tidemark: CliContext, email: str, organization: str | None, yes: bool, json: bool
) -> None:
    """Remove a person, or an invitation: access ends at once, that of personal API keys too."""
    with tidemark.open_registry() as store:
        member = _member(store, email, organization)
        if not yes and sys.stdin.isatty():
            click.confirm(f"Remove {email} from {member.organization_id}?", abort=True)
        store.remove_member(member.id)
    print_record({"id": member.id, "email": email, "removed": True}, json)


@people.command("reset-password")
@email_argument
@as_json
@click.pass_obj
def reset_password(tidemark: CliContext, email: str, json: bool) -> None:
    """Print a link that sets a new password, once, within an hour: pass it on to the person."""
    with tidemark.open_registry() as store:
        account = _account(store, email)
        sent = asyncio.run(_links(tidemark, store).reset_password(account, now_ms()))
    print_record({"email": email, "link": sent.link, "expires": sent.expires}, json)


@people.command("second-factor")
@email_argument
@click.option("--remove", "removes", is_flag=True, help="Remove it, for who has lost it.")
@as_json
@click.pass_obj
def second_factor(tidemark: CliContext, email: str, removes: bool, json: bool) -> None:
    """Show whether a person has a second factor, or remove it."""
    with tidemark.open_registry() as store:
        account = _account(store, email)
        if removes:
            account = store.update(
                Account,
                account.id,
                now_ms(),
                second_factor=False,
                totp_secret=None,
                recovery_hashes=(),
            )
    shown = {
        "email": email,
        "secondFactor": account.second_factor,
        "recoveryCodes": len(account.recovery_hashes),
    }
    print_record(shown, json)


@people.command("sign-out")
@email_argument
@as_json
@click.pass_obj
def sign_out(tidemark: CliContext, email: str, json: bool) -> None:
    """End all sessions of a person, in all browsers; the password stays."""
    with tidemark.open_registry() as store:
        account, sign_ins = _account(store, email), store.sign_ins()
        ended = len(sign_ins.sessions(account.id, now_ms()))
        sign_ins.end_sessions(account.id)
    print_record({"email": email, "endedSessions": ended}, json)


def _links(
    tidemark: CliContext, store: RegistryStore, mailer: "Mailer | None" = None
) -> "PersonLinks":
    from query.sign_in.person_links import PersonLinks  # it loads HTTP

    secret = store.sign_ins().read(now_ms()).secret
    return PersonLinks(
        public_query_url(tidemark.settings), lambda token: sign(token, secret), mailer
    )


def _send_invitation(
    tidemark: CliContext, store: RegistryStore, member: Member
) -> dict[str, object]:
    from schemas.mail.mailer import open_mailer

    organization = store.get(Organization, member.organization_id).name
    links = _links(tidemark, store, open_mailer(tidemark.settings))
    sent = asyncio.run(links.invite(member, organization, now_ms()))
    return structs.asdict(sent)


def _person(member: Member, account: Account | None) -> dict[str, object]:
    """A person as the API shows it."""
    return {
        "id": member.id,
        "organizationId": member.organization_id,
        "email": member.email,
        "name": (account and account.name) or member.name,
        "role": member.role,
        "websiteRoles": member.website_roles,
        "state": "active" if account else "invited",
        "secondFactor": account is not None and account.second_factor,
        "lastSignInAt": format_instant(member.last_sign_in_at if account else None),
        "createdAt": format_instant(member.created_at),
        "updatedAt": format_instant(member.updated_at),
    }


def _member(store: RegistryStore, email: str, organization: str | None) -> Member:
    members = store.list(Member, email=email, organization_id=organization)
    if not members:
        raise RecordNotFound(NO_MEMBER.format(email=email))
    if len(members) > 1:
        owners = ", ".join(member.organization_id for member in members)
        raise click.UsageError(f"'{email}' is in several; give --organization: {owners}")
    return members[0]


def _account(store: RegistryStore, email: str) -> Account:
    accounts = store.list(Account, email=email)
    if not accounts:
        raise RecordNotFound(NO_ACCOUNT.format(email=email))
    return accounts[0]


def _account_of(store: RegistryStore, member: Member) -> Account | None:
    return store.get(Account, member.account_id) if member.account_id else None


def _check_roles(
    store: RegistryStore, organization: str, role: str | None, website_roles: dict[str, str]
) -> None:
    if role is None and not website_roles:
        raise click.UsageError("give --role, or --website with at least one website")
    for website_id in website_roles:
        if store.get(Website, website_id).organization_id != organization:
            raise click.UsageError(
                f"website '{website_id}' does not belong to organization '{organization}'"
            )
