"""Who may sign in by an identity provider or a proxy, as the settings say: checked at start."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from schemas.runtime.networks import Networks, parse_networks
from schemas.runtime.roles import ROLES, Role
from schemas.runtime.settings import Settings

VARIABLE = "TIDEMARK_"
DISCOVERY_PATH = "/.well-known/openid-configuration"
ENTRA_HOST = "login.microsoftonline.com"
SHARED_TENANTS = ("common", "organizations", "consumers")
"""Names that stand for all tenants of Entra: anybody in the world could sign in."""


class InvalidSignInAccess(Exception):
    """Settings of sign-in contradict each other, or name a file that cannot be used."""


class OidcAccess(Struct, frozen=True):
    """How the identity provider is reached, and which of its claims count."""

    issuer: str
    """Without a trailing slash."""
    client_id: str
    client_secret: str
    name: str
    scopes: str
    trusts_email: bool
    groups_claim: str
    """Empty where no group gives a role."""

    def __repr__(self) -> str:
        return f"OidcAccess({self.issuer!r})"


class SignUpRules(Struct, frozen=True):
    """Who joins the organization of the settings without an invitation, and with which role."""

    organization_id: str = ""
    group_roles: Mapping[str, str] = {}
    domains: frozenset[str] = frozenset()

    def role_of_groups(self, groups: Iterable[str]) -> str | None:
        """The highest role that the groups give."""
        roles = {self.group_roles[group] for group in groups if group in self.group_roles}
        return next((role for role in ROLES if role in roles), None)

    def sign_up_role(self, email: str, groups: Iterable[str]) -> str | None:
        """The role of a person who has no membership; None when nobody let this person in."""
        is_welcome = email.rpartition("@")[2] in self.domains
        return self.role_of_groups(groups) or (Role.VIEWER.value if is_welcome else None)


class ProxyHeader(Struct, frozen=True):
    """The header in which a proxy that signs people in sends their e-mail address."""

    name: bytes
    """In lower case."""
    networks: Networks
    """From which it is believed."""


def oidc_access(settings: Settings) -> OidcAccess | None:
    """Single sign-on, if the settings name an issuer; InvalidSignInAccess."""
    if not settings.oidc_issuer:
        for name in ("oidc_client_id", "oidc_client_secret_file"):
            if getattr(settings, name):
                raise InvalidSignInAccess(
                    f"{VARIABLE}{name.upper()} is not used without {VARIABLE}OIDC_ISSUER: set both"
                )
        return None
    if not settings.oidc_client_id or not settings.oidc_client_secret_file:
        raise InvalidSignInAccess(
            f"{VARIABLE}OIDC_ISSUER needs {VARIABLE}OIDC_CLIENT_ID and "
            f"{VARIABLE}OIDC_CLIENT_SECRET_FILE: the identity provider shows both"
        )
    if "openid" not in settings.oidc_scopes.split():
        raise InvalidSignInAccess(
            f"{VARIABLE}OIDC_SCOPES={settings.oidc_scopes!r}: one of them must be openid"
        )
    return OidcAccess(
        issuer=_issuer(settings.oidc_issuer),
        client_id=settings.oidc_client_id,
        client_secret=_secret(settings.oidc_client_secret_file),
        name=settings.oidc_name,
        scopes=settings.oidc_scopes,
        trusts_email=settings.oidc_trusts_email,
        groups_claim=settings.oidc_groups_claim if settings.oidc_group_roles else "",
    )


def sign_up_rules(settings: Settings) -> SignUpRules:
    """Who may sign up; InvalidSignInAccess."""
    group_roles = dict(_group_role(text) for text in _listed(settings.oidc_group_roles))
    domains = frozenset(map(_domain, _listed(settings.oidc_sign_up_domains)))
    for name, value in (("GROUP_ROLES", group_roles), ("SIGN_UP_DOMAINS", domains)):
        if value and not settings.oidc_organization:
            raise InvalidSignInAccess(
                f"{VARIABLE}OIDC_{name} needs {VARIABLE}OIDC_ORGANIZATION: the id of the "
                "organization that people join"
            )
    return SignUpRules(settings.oidc_organization, group_roles, domains)


def proxy_header(settings: Settings) -> ProxyHeader | None:
    """The header of a proxy that signs people in, if there is one; InvalidSignInAccess."""
    variable = f"{VARIABLE}PROXY_NETWORKS"
    try:
        networks = parse_networks(settings.proxy_networks)
    except ValueError as error:
        raise InvalidSignInAccess(
            f"{variable}={settings.proxy_networks!r}: {error}; use addresses or networks such as "
            "10.0.0.5 or 10.0.0.0/8, separated by commas"
        ) from None
    if not settings.proxy_email_header:
        return None
    if not networks:
        raise InvalidSignInAccess(
            f"{VARIABLE}PROXY_EMAIL_HEADER needs {variable}: anybody could send the header"
        )
    return ProxyHeader(settings.proxy_email_header.lower().encode(), networks)


def _issuer(text: str) -> str:
    parts = urlsplit(text)
    variable = f"{VARIABLE}OIDC_ISSUER"
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise InvalidSignInAccess(f"{variable} must have no login, query or fragment")
    if text.rstrip("/").endswith(DISCOVERY_PATH):
        raise InvalidSignInAccess(f"{variable} must end before {DISCOVERY_PATH}")
    if parts.hostname == ENTRA_HOST and parts.path.split("/")[1:2][0] in SHARED_TENANTS:
        raise InvalidSignInAccess(
            f"{variable} stands for all tenants: put the id of your tenant in its place"
        )
    return text.rstrip("/")


def _secret(path: str) -> str:
    variable = f"{VARIABLE}OIDC_CLIENT_SECRET_FILE={path!r}"
    try:
        secret = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidSignInAccess(f"{variable}: {reason}") from None
    if not secret:
        raise InvalidSignInAccess(f"{variable}: the file is empty")
    return secret


def _group_role(text: str) -> tuple[str, str]:
    """The last `=` separates them: names of groups may contain one."""
    group, _, role = (part.strip() for part in text.rpartition("="))
    if not group or role not in ROLES:
        raise InvalidSignInAccess(
            f"{VARIABLE}OIDC_GROUP_ROLES: {text!r} must be group=role, with one of the roles "
            f"{', '.join(ROLES)}"
        )
    return group, role


def _domain(text: str) -> str:
    if "@" in text or "." not in text.strip("."):
        raise InvalidSignInAccess(
            f"{VARIABLE}OIDC_SIGN_UP_DOMAINS: {text!r} must be a domain such as shop.example"
        )
    return text.lower()


def _listed(text: str) -> Sequence[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
