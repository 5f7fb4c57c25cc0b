"""Settings of single sign-on and of a proxy that signs people in: checked when they are loaded."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from schemas.runtime.environment import InvalidSetting, load_settings
from schemas.runtime.settings import Settings
from schemas.runtime.sign_in_access import (
    OidcAccess,
    SignUpRules,
    oidc_access,
    proxy_header,
    sign_up_rules,
)

ISSUER = "https://id.shop.example/realms/staff"


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """Variables of single sign-on that fit together."""
    file = tmp_path / "secret"
    file.write_text("s3cret\n")
    return {
        "TIDEMARK_OIDC_ISSUER": ISSUER,
        "TIDEMARK_OIDC_CLIENT_ID": "tidemark",
        "TIDEMARK_OIDC_CLIENT_SECRET_FILE": str(file),
    }


@pytest.mark.parametrize("slash", ["", "/"])
def test_single_sign_on_needs_an_issuer_and_a_client(variables: dict[str, str], slash: str) -> None:
    access = oidc_access(load_settings({**variables, "TIDEMARK_OIDC_ISSUER": ISSUER + slash}))

    assert access == OidcAccess(
        issuer=ISSUER,
        client_id="tidemark",
        client_secret="s3cret",
        name="single sign-on",
        scopes="openid email profile",
        trusts_email=False,
        groups_claim="",
    )
    assert "s3cret" not in repr(access)


def test_groups_are_read_where_they_give_roles(variables: dict[str, str]) -> None:
    roles = {"TIDEMARK_OIDC_GROUP_ROLES": "a=admin", "TIDEMARK_OIDC_ORGANIZATION": "acme"}

    access = oidc_access(load_settings({**variables, **roles}))

    assert access is not None
    assert access.groups_claim == "groups"


def test_by_default_nobody_signs_in_but_with_a_key_or_a_password() -> None:
    settings = load_settings({})

    assert settings.password_sign_in
    assert oidc_access(settings) is None
    assert sign_up_rules(settings) == SignUpRules()
    assert proxy_header(settings) is None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("ISSUER", "id.shop.example", "TIDEMARK_OIDC_ISSUER='id.shop.example' must be like https:"),
        ("ISSUER", "https://id:99999/", "TIDEMARK_OIDC_ISSUER='https://id:99999/' must have a hos"),
        ("ISSUER", "", "TIDEMARK_OIDC_CLIENT_ID is not used without TIDEMARK_OIDC_ISSUER: set"),
        ("ISSUER", "https://u:s3cret@id.example", "TIDEMARK_OIDC_ISSUER must have no login, query"),
        ("ISSUER", "https://id.example/?a=b", "TIDEMARK_OIDC_ISSUER must have no login, query"),
        (
            "ISSUER",
            "https://id.example/.well-known/openid-configuration",
            "TIDEMARK_OIDC_ISSUER must end before /.well-known/openid-configuration",
        ),
        (
            "ISSUER",
            "https://login.microsoftonline.com/common/v2.0",
            "TIDEMARK_OIDC_ISSUER stands for all tenants: put the id of your tenant in its place",
        ),
        ("CLIENT_ID", "", "TIDEMARK_OIDC_ISSUER needs TIDEMARK_OIDC_CLIENT_ID and TIDEMARK_OIDC_C"),
        ("CLIENT_SECRET_FILE", "", "TIDEMARK_OIDC_ISSUER needs TIDEMARK_OIDC_CLIENT_ID and TIDEM"),
        ("CLIENT_SECRET_FILE", "/no", "TIDEMARK_OIDC_CLIENT_SECRET_FILE='/no': No such file"),
        ("CLIENT_SECRET_FILE", "/dev/null", "TIDEMARK_OIDC_CLIENT_SECRET_FILE='/dev/null': the fi"),
        ("SCOPES", "email profile", "TIDEMARK_OIDC_SCOPES='email profile': one of them must be o"),
        ("TRUSTS_EMAIL", "perhaps", "TIDEMARK_OIDC_TRUSTS_EMAIL='perhaps' must be 1 or 0"),
        ("GROUP_ROLES", "staff", "TIDEMARK_OIDC_GROUP_ROLES: 'staff' must be group=role, with one"),
        ("GROUP_ROLES", "staff=boss", "TIDEMARK_OIDC_GROUP_ROLES: 'staff=boss' must be group=role"),
        ("GROUP_ROLES", "=admin", "TIDEMARK_OIDC_GROUP_ROLES: '=admin' must be group=role"),
        ("GROUP_ROLES", "a=admin", "TIDEMARK_OIDC_GROUP_ROLES needs TIDEMARK_OIDC_ORGANIZATION"),
        ("SIGN_UP_DOMAINS", "a.b", "TIDEMARK_OIDC_SIGN_UP_DOMAINS needs TIDEMARK_OIDC_ORGANIZ"),
        ("SIGN_UP_DOMAINS", "@a.b", "TIDEMARK_OIDC_SIGN_UP_DOMAINS: '@a.b' must be a domain"),
        ("SIGN_UP_DOMAINS", "com", "TIDEMARK_OIDC_SIGN_UP_DOMAINS: 'com' must be a domain"),
    ],
)  # fmt: skip
def test_settings_that_do_not_fit_together_are_refused(
    variables: dict[str, str], name: str, value: str, message: str
) -> None:
    with pytest.raises(InvalidSetting) as raised:
        load_settings({**variables, f"TIDEMARK_OIDC_{name}": value})

    assert str(raised.value).startswith(message)
    assert "s3cret" not in str(raised.value)


RULES = sign_up_rules(
    Settings(
        oidc_organization="acme",
        oidc_group_roles="cn=admins=admin, /staff=viewer,Analysts=analyst",
        oidc_sign_up_domains="Shop.example, sub.shop.example",
    )
)


def test_rules_of_sign_up_are_lists() -> None:
    roles = {"cn=admins": "admin", "/staff": "viewer", "Analysts": "analyst"}
    domains = frozenset(("shop.example", "sub.shop.example"))

    assert SignUpRules("acme", roles, domains) == RULES


@pytest.mark.parametrize(
    ("email", "groups", "role"),
    [
        ("a@shop.example", [], "viewer"),
        ("a@shop.example", ["Analysts"], "analyst"),
        ("a@shop.example", ["/staff", "cn=admins", "Analysts"], "admin"),
        ("a@other.example", ["/staff"], "viewer"),
        ("a@other.example", ["analysts", "staff", "cn=admin"], None),
        ("a@other.example", [], None),
        ("a@evilshop.example", [], None),
        ("a@x.shop.example", [], None),
    ],
)
def test_a_group_or_a_domain_lets_a_person_in(
    email: str, groups: Sequence[str], role: str | None
) -> None:
    assert RULES.sign_up_role(email, groups) == role


def test_the_header_of_a_proxy_needs_its_networks() -> None:
    header = {"TIDEMARK_PROXY_EMAIL_HEADER": "X-Forwarded-Email"}
    networks = "TIDEMARK_PROXY_NETWORKS"

    with pytest.raises(InvalidSetting, match=f"{networks}: anybody could send the header"):
        load_settings(header)
    with pytest.raises(InvalidSetting, match=f"{networks}='nonsense'"):
        load_settings({**header, networks: "nonsense"})
    with pytest.raises(InvalidSetting, match="TIDEMARK_PROXY_EMAIL_HEADER='a b'"):
        load_settings({"TIDEMARK_PROXY_EMAIL_HEADER": "a b"})
    proxy = proxy_header(load_settings({**header, networks: "10.0.0.5"}))
    assert proxy is not None
    assert (proxy.name, [str(network) for network in proxy.networks]) == (
        b"x-forwarded-email",
        ["10.0.0.5/32"],
    )
