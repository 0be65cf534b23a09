"""Numbers in sentences."""

from __future__ import annotations

__all__ = ["counted", "verb"]


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Write how many there are of something, in the singular or in the plural.

    Examples
    --------
    >>> counted(1, "debate"), counted(1200, "debate"), counted(2, "entry", "entries")
    ('1 debate', '1,200 debates', '2 entries')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def verb(count: int, singular: str, plural: str) -> str:
    """Return the verb that goes with a number.

    Examples
    --------
    >>> verb(1, "has", "have"), verb(0, "has", "have")
    ('has', 'have')
    """
    return singular if count == 1 else plural
