"""Where a server is and which key it gets: what may be shown of both, and what is taken out of every text."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from d3stats._words import visible
from d3stats.agent import Refused

__all__ = ["Key", "checked_url", "without_secrets"]

SECRET = 8
"""A shorter key is a placeholder, and may be a word of a reply."""


def without_secrets(base_url: str) -> str:
    """Return a URL without user, password, query and fragment, to be shown.

    Examples
    --------
    >>> without_secrets("https://me:secret@host:8000/v1?key=secret")
    'https://host:8000/v1'
    """
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{'' if parts.port is None else f':{parts.port}'}{parts.path}"


def checked_url(url: str) -> str:
    """Return a base URL that is one and holds no secret.

    Examples
    --------
    >>> checked_url("http://127.0.0.1:8000/v1")
    'http://127.0.0.1:8000/v1'
    """
    try:
        parts = urlsplit(url)
        shown = without_secrets(url)
    except ValueError:
        raise ValueError("base_url must be a URL; got one that cannot be read (not shown)") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"base_url must begin with http:// or https:// and name a host; got {shown!r}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError(
            f"base_url must hold no user, no password and no query (a key belongs into the environment); "
            f"got more than {shown!r}"
        )
    return shown


class Key:
    """The key of one server, as the environment holds it when the run begins.

    Parameters
    ----------
    variable : str
        Of the environment.

    Examples
    --------
    >>> os.environ["SOME_KEY"] = "sk-0123456789"
    >>> key = Key("SOME_KEY")
    >>> key.sent = key.read()
    >>> key.hide("The key sk-0123456789 is not valid.")
    'The key [not shown] is not valid.'
    """

    def __init__(self, variable: str) -> None:
        self.variable = variable
        self.sent: str | None = None

    def read(self) -> str | None:
        """Return the key; None where there is none.

        Raises
        ------
        Refused
            When no header can hold it.
        """
        key = os.environ.get(self.variable, "").strip()
        # A key with a blank or a line end would end up in an error message of the HTTP library.
        if not re.fullmatch(r"[!-~]*", key):
            del key  # A traceback may show what is at hand.
            raise Refused(
                f"the key in {self.variable} must be printable ASCII without blanks; got something else (not shown)"
            )
        return key or None

    def hide(self, words: str) -> str:
        """Return a text without the key that was sent."""
        if self.sent is None or len(self.sent) < SECRET:
            return words
        return words.replace(self.sent, "[not shown]")

    def clean(self, words: str) -> str:
        """Return a server's words on one line, without the key, to be shown."""
        return " ".join(visible(self.hide(words)).split())[:300]
