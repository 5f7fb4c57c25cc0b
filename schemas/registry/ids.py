"""Random ids without look-alike characters."""

import secrets

ALPHABET = "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"


def random_id(length: int) -> str:
    """Random letters and digits: 5.86 bits each."""
    return "".join(secrets.choice(ALPHABET) for _ in range(length))
