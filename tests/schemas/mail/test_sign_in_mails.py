"""Mails about signing in say who, what and until when, and names in them are text."""

from datetime import UTC, datetime, timedelta, timezone
from email.headerregistry import Address

from schemas.mail.message import build_message
from schemas.mail.sign_in_mails import invitation_mail, password_reset_mail

EXPIRES = datetime(2026, 12, 7, 10, 30, tzinfo=UTC)
LINK = "https://stats.shop.example/invitation#inv.abc"


def test_an_invitation_names_inviter_and_organization() -> None:
    mail = invitation_mail("bob@shop.example", "Shop", "Ann <ann@shop.example>", LINK, EXPIRES)

    assert mail.to == "bob@shop.example"
    assert mail.subject == "Ann <ann@shop.example> invites you to Shop on Tidemark"
    assert mail.text == (
        "Join Shop on Tidemark\n\n"
        "Ann <ann@shop.example> invites you to the web analytics of Shop.\n\n"
        "Accept the invitation:\n"
        "https://stats.shop.example/invitation#inv.abc\n\n"
        "The link works once, until 7 December 2026, 10:30 UTC. It is yours alone: please do not "
        "forward it.\n\n"
        "If you did not expect this invitation, ignore this mail.\n\n"
        "-- \n"
        "Tidemark at stats.shop.example\n"
    )


def test_a_password_reset_names_the_account() -> None:
    link = "https://stats.shop.example/sign-in/password#r.abc"
    berlin = EXPIRES.astimezone(timezone(timedelta(hours=1)))

    mail = password_reset_mail("bob@shop.example", link, berlin)

    assert mail.subject == "Set a new password for Tidemark"
    assert mail.text == (
        "Set a new password\n\n"
        "A new password was requested for bob@shop.example.\n\n"
        "Set a new password:\n"
        "https://stats.shop.example/sign-in/password#r.abc\n\n"
        "The link works once, until 7 December 2026, 10:30 UTC. It is yours alone: please do not "
        "forward it.\n\n"
        "If you did not request it, ignore this mail: your password stays as it is.\n\n"
        "-- \n"
        "Tidemark at stats.shop.example\n"
    )


def test_the_link_is_a_button_and_a_text() -> None:
    html = invitation_mail("bob@shop.example", "Shop", "Ann", f"{LINK}&x", EXPIRES).html

    assert html.count(f'<a href="{LINK}&amp;x" ') == 2
    assert f'">{LINK}&amp;x</a>' in html
    assert '">Accept the invitation</a>' in html
    assert "http" not in html.replace(f"{LINK}&amp;x", "")


def test_a_name_is_neither_markup_nor_a_header() -> None:
    name = 'Shop\r\nBcc: "x" <b>@shop.example</b>'

    mail = invitation_mail("bob@shop.example", name, "<script>", LINK, EXPIRES)

    assert mail.subject == (
        '<script> invites you to Shop Bcc: "x" <b>@shop.example</b> on Tidemark'
    )
    assert "&lt;script&gt; invites you" in mail.html
    assert "<script" not in mail.html
    assert "<b>" not in mail.html


def test_a_mail_is_not_shown_with_its_link() -> None:
    assert LINK not in repr(invitation_mail("bob@shop.example", "Shop", "Ann", LINK, EXPIRES))


def test_an_encoded_line_break_in_a_name_begins_no_header() -> None:
    name = "=?utf-8?q?x=0d=0aReply-To:_eve@evil.example=0d=0a=0d=0aEve's_own_text?="
    mail = invitation_mail("bob@shop.example", name, "Ann", LINK, EXPIRES)
    sender, to = Address("T", "t", "shop.example"), Address("B", "bob", "shop.example")

    lines = build_message(mail, sender, to, EXPIRES).as_bytes().splitlines()

    assert not [line for line in lines if line.startswith((b"Reply-To:", b"Eve's own text"))]
