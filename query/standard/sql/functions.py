"""SQL functions that engines name or write differently, in one place."""


def int_div(dividend: str, divisor: str) -> str:
    """Integer division of expressions that are not negative. Trino has `/` on integers."""
    return f"({dividend}) // {divisor}"


def int_128(expression: str) -> str:
    """The expression as a 128-bit integer. Trino has DECIMAL(38, 0)."""
    return f"CAST({expression} AS HUGEINT)"


def first_by(value: str, key: str) -> str:
    """Aggregate: the value, NULL or not, of the row with the lowest key. Trino has MIN_BY."""
    return f"ARG_MIN_NULL({value}, {key})"


def last_by(value: str, key: str) -> str:
    """Aggregate: the value, NULL or not, of the row with the highest key. Trino has MAX_BY."""
    return f"ARG_MAX_NULL({value}, {key})"
