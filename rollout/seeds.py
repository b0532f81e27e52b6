"""Seeds that depend on what they are for, not on when or where it runs."""

import hashlib


def derive(*parts: object) -> int:
    """A seed (48 bits) of the parts' spelling: equal parts give equal seeds, in any process."""
    return int.from_bytes(hashlib.sha256("/".join(map(str, parts)).encode()).digest()[:6], "big")
