"""Free-form objects as one text for each meaning, as queries group and filter by parts of it."""

import msgspec
from msgspec import Raw


def canonical_json(raw: Raw) -> str:
    """The JSON text without blanks; whole numbers as integers, the last of members with one name.

    12, 12.0 and 1.2e1 become `12`. Integers are exact; numbers with a fraction are doubles.
    """
    return str(_encode(_decode(raw)), "utf-8")


def _number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < INT64 else number


INT64 = 2**63
_decode = msgspec.json.Decoder(float_hook=_number).decode
_encode = msgspec.json.Encoder().encode
