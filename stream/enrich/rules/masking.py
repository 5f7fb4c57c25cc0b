"""Masks e-mail addresses, tokens and card numbers in a text: `[email]`, `[token]`, `[card]`.

Left as they are: UUIDs, versions, order numbers, hashes in names of files or behind a word such as
`commit/`, words joined by dashes or capitals.
A number is a card's by its prefix, length and check digit; a secret without a known form by its
length and mixture.
"""

import re

from stream.enrich.rules.cache import GenerationalCache

EMAIL, TOKEN, CARD = "[email]", "[token]", "[card]"

_KNOWN_BEGINNINGS = (
    *("eyJ", "_live_", "_test_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    *("glpat-", "xox", "AKIA", "ASIA", "AIza", "sk-", "SG.", "npm_", "hf_"),
)
_SECRET_NAMES = ("token", "secret", "passw", "pwd", "api", "session", "bearer", "basic")
_DIGITS = re.compile(r"[0-9][0-9 +%-]{11}")
_LONG_LENGTH = 32
_FILE_ENDING = (
    r"(?i:avif|bmp|cjs|css|csv|gif|html?|ico|jpe?g|jsx?|json|map|md|mjs|mp[34]|pdf|php|png|svg|tsx?"
    r"|txt|vue|webp|woff2?|xml)\b"
)
_ENCODED = r"(?<=%[0-9A-Fa-f]{2})(?<!%25)|(?<=%25[0-9A-Fa-f]{2})"
"""Behind a percent-encoded character, as in a URL that is the parameter of another."""
_EMAIL = re.compile(
    rf"(?:(?<![\w.%+-])|{_ENCODED})(?<!//)(?:[\w.+'-]|%[C-Fc-f][0-9A-Fa-f])"
    r"(?:[\w.+'-]|%2B|%[C-Fc-f89ABab][0-9A-Fa-f]){0,63}"
    r"(?:@|%(?:25)*40)"
    rf"(?!\d+(?:\.\d|x\.))(?:[^\W_](?:[\w-]{{0,61}}[^\W_])?\.){{1,8}}(?!{_FILE_ENDING})[^\W\d_]{{2,24}}(?![\w-])"
)
"""No addresses are names of files and packages, as `logo@2x.png` and `vue@3.4.1.min.js`, and a
user before a host."""
_KNOWN = re.compile(
    rf"(?:(?<![A-Za-z0-9])|{_ENCODED})(?:"
    r"eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*){0,3}"  # JSON web token
    r"|(?:sk|rk|pk)_(?:live|test)_\w{8,}"  # Stripe
    r"|gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}"  # GitHub, GitLab
    r"|xox[abeoprs]-[\w-]{10,}"  # Slack
    r"|sk-(?:ant|proj)-[\w-]{16,}|SG\.[\w-]{16,}\.[\w-]{16,}|(?:npm|hf)_[A-Za-z0-9]{30,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{35}"  # AWS, Google
    r")"
)
_NAMED = re.compile(
    rf"(?:(?<![A-Za-z0-9])|{_ENCODED})"
    r"(bearer\s+(?=\S*\d|\S{20})|authorization:?\s*basic\s+|(?:access_?|refresh_?|id_?|auth_?|csrf_?|reset_?)?"
    r"(?:token|secret|password|passwd|pwd|api[_-]?key|session_?id)"
    r"(?:=|%(?:25)*3D|[\"']?:\s?[\"']?(?=[\w.~+/%=-]*\d|[\w.~+/%=-]{20})))([\w.~+/%=-]{6,})",
    re.IGNORECASE,
)
"""A value that its name calls a secret; behind a colon, as in prose, with a digit or long."""
_LONG = re.compile(r"(?<![\w.-])[A-Za-z0-9_-]{32,512}={0,2}(?![\w-])(?!\.[A-Za-z])")
_PIECE = re.compile(r"[A-Za-z0-9]{16,}")
_HEX = re.compile(r"[0-9a-f]{40,}", re.IGNORECASE)
_HASH_NAME = re.compile(
    r"(?<![A-Za-z0-9])(?:commits?|tree|blob|raw|compare|rev|hash|sha-?(?:1|256|384|512)?|checksum"
    r"|digest|etag|integrity)[/:=]$",
    re.IGNORECASE,
)
"""Before a hexadecimal number that is a hash of contents, as in the URL of a commit."""
_HASH_NAME_LENGTH = 24
_WORD = re.compile(r"[A-Z]?[a-z]{2,}")
_LEAST_WORDS = 0.7
"""Part of a text that is words of at least two letters, as in `HowToBuild10Things`: 3 of 1,000
random texts of 40 letters and digits have as much."""
_PLAIN_CARD = re.compile(rf"(?:(?<![0-9A-Za-z])(?<!\d[.,])|{_ENCODED})\d{{13,19}}(?![0-9A-Za-z])")
_GROUPED_CARD = re.compile(
    r"(?<![0-9A-Za-z])(?<![0-9A-Za-z]-)\d{4}([ +-]|%20)"
    r"(?:\d{4}\1\d{4}\1\d{1,7}|\d{6}\1\d{4,5})(?![0-9A-Za-z]|-[0-9A-Za-z])"
)
_SEPARATOR = re.compile(r"%20|[ +-]")
_ISSUER = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})"  # Visa
    r"|(?:5[1-5]\d{2}|222[1-9]|22[3-9]\d|2[3-6]\d{2}|27[01]\d|2720)\d{12}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|(?:6011|64[4-9]\d|65\d{2}|62\d{2})\d{12,15}"  # Discover, UnionPay
    r"|3(?:0[0-5]|[68]\d)\d{11}"  # Diners Club
    r"|35(?:2[89]|[3-8]\d)\d{12}"  # JCB
    r"|(?:50|5[6-8]|6[37])\d{14}"  # Maestro
)


def mask(text: str) -> str:
    """The text without e-mail addresses, tokens and card numbers.

    Substrings are looked for first: most texts have none, and patterns take ten times as long.
    """
    if "@" in text or "%40" in text or "%2540" in text:
        text = _EMAIL.sub(EMAIL, text)
    if _has_any(text, _KNOWN_BEGINNINGS):
        text = _KNOWN.sub(TOKEN, text)
    if _has_any(text.lower(), _SECRET_NAMES):
        text = _NAMED.sub(rf"\1{TOKEN}", text)
    if len(text) >= _LONG_LENGTH:
        text = _LONG.sub(_masked_long, text)
    if _DIGITS.search(text):
        text = _GROUPED_CARD.sub(_masked_card, _PLAIN_CARD.sub(_masked_card, text))
    return text


def _has_any(text: str, parts: tuple[str, ...]) -> bool:
    return any(part in text for part in parts)


masked: GenerationalCache[str, str] = GenerationalCache(mask)
"""The same of short texts that repeat, such as paths."""


def _masked_long(match: re.Match[str]) -> str:
    text = match[0]
    if _HEX.fullmatch(text):
        start = match.start()
        before = match.string[max(0, start - _HASH_NAME_LENGTH) : start]
        return text if _HASH_NAME.search(before) else TOKEN
    return TOKEN if _is_random(text) else text


def _is_random(text: str) -> bool:
    """Whether it has upper case, lower case and digits in one piece, several of each, and is not
    made of words."""
    kinds = (str.isupper, str.islower, str.isdigit)
    return (
        all(sum(map(kind, text)) >= 3 for kind in kinds)
        and any(all(any(map(kind, piece)) for kind in kinds) for piece in _PIECE.findall(text))
        and sum(map(len, _WORD.findall(text))) < _LEAST_WORDS * len(text)
    )


def _masked_card(match: re.Match[str]) -> str:
    number = _SEPARATOR.sub("", match[0])
    return CARD if _ISSUER.fullmatch(number) and _has_check_digit(number) else match[0]


def _has_check_digit(number: str) -> bool:
    """Whether the digits satisfy the Luhn formula."""
    digits = [int(digit) for digit in reversed(number)]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0
