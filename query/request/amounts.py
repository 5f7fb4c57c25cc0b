"""Amounts of money: JSON numbers, and texts that can be read in one way only.

`49.90`, `49,90`, `1,299.00`, `1.299,00 €`, `EUR 1 299,00` and `1'299.00` are read. `1.299` and
`1,299` are not: each may be some thirteen hundred or a little more than one.
"""

from query.request.property_path import MAX_SUMMED, PropertyPath

_BLANK = r" \t\n\f\r\p{Zs}"
_SPACE = f"[{_BLANK}]*"
_UNIT = r"(\p{Sc}|[A-Z]{3})?"


def _number(point: str, comma: str) -> str:
    """Texts in which the first mark stands before the decimals, and the other between groups."""
    space = f"['’{_BLANK}]"
    gap = f"({comma}|{space})"
    digit = "[0-9]"  # `\d` has the digits of all scripts in some engines
    whole = f"{digit}+|{digit}{{1,3}}({gap}{digit}{{3}}){{2,}}|{digit}{{1,3}}({space}{digit}{{3}})+"
    plain = f"{digit}+{point}({digit}{{1,2}}|{digit}{{4,}})|(0|{digit}{{4,}}){point}{digit}{{3}}"
    grouped = f"{digit}{{1,3}}({gap}{digit}{{3}})+{point}{digit}+"
    sign = f"([-+]?{_UNIT}{_SPACE}|{_UNIT}{_SPACE}[-+])"
    return f"^{_SPACE}{sign}({whole}|{plain}|{grouped}){_SPACE}{_UNIT}{_SPACE}$"


def _quoted(pattern: str) -> str:
    return "'" + pattern.replace("'", "''") + "'"


_WITH_POINT = _quoted(_number(r"\.", ","))
_WITH_COMMA = _quoted(_number(",", r"\."))


_SYMBOLS = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY"}


def currency_in_text(property_: PropertyPath) -> str:
    """The code of the currency that stands in the text of an amount; empty without one."""
    unit = rf"REPLACE_MATCHES({property_.text}, '[^A-Z\p{{Sc}}]', '')"
    codes = " ".join(f"WHEN '{symbol}' THEN '{code}'" for symbol, code in _SYMBOLS.items())
    return f"CASE WHEN {property_.number} IS NULL THEN CASE {unit} {codes} ELSE {unit} END END"


def amount_sql(property_: PropertyPath, currency: str) -> str:
    """The amount of a property; NULL where it is none, or too large to be added.

    `currency` is SQL for the code that the row has; NULL, too, where the text names another one.
    """
    text, unit = property_.text, currency_in_text(property_)
    return f"""
        CASE WHEN {property_.number} IS NOT NULL
             THEN {_in_bounds(property_.number)}
             WHEN {unit} <> '' AND {unit} <> {currency}
             THEN NULL
             WHEN REGEXP_MATCHES({text}, {_WITH_POINT})
             THEN {_in_bounds(f"TRY_CAST(REPLACE_MATCHES({text}, '[^0-9.-]', '') AS DOUBLE)")}
             WHEN REGEXP_MATCHES({text}, {_WITH_COMMA})
             THEN {
        _in_bounds(
            f"TRY_CAST(REPLACE(REPLACE_MATCHES({text}, '[^0-9,-]', ''), ',', '.') AS DOUBLE)"
        )
    }
        END
    """


def _in_bounds(number: str) -> str:
    return f"CASE WHEN {number} BETWEEN -{MAX_SUMMED} AND {MAX_SUMMED} THEN {number} END"
