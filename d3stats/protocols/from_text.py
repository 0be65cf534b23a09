"""Protocols by their name, with parameters given as text."""

from __future__ import annotations

from d3stats._named import Reader, named
from d3stats.protocols.play import DebateProtocol

__all__ = ["protocol_from_text", "protocols"]


def protocols() -> dict[str, type[DebateProtocol]]:
    """Return every protocol by its name: each class of this folder that can be played and has a name.

    Returns
    -------
    dict of str to type of DebateProtocol

    Examples
    --------
    >>> "samre" in protocols(), protocols()["single_judge"].__name__
    (True, 'SingleJudge')
    """
    return dict(named("d3stats.protocols", DebateProtocol))


def protocol_from_text(text: str) -> DebateProtocol:
    """Read a protocol and its parameters from text, as the command line gives it.

    Parameters
    ----------
    text : str
        For example ``"more"``, ``"samre:jurors=3,poll=every_round"``.

    Returns
    -------
    DebateProtocol

    Raises
    ------
    ValueError
        When there is no such protocol or parameter, or its value cannot be.

    Examples
    --------
    >>> protocol_from_text("single_judge:calibrate=True")
    SingleJudge(max_rounds=1, calibrate=True, samples=1, words=150)
    >>> str(protocol_from_text("single_judge"))
    'single_judge'
    """
    if not isinstance(text, str):
        raise TypeError(f"protocol must be a string; got {text!r}")
    reader = Reader(text, "protocol", protocols(), positional=False)
    found: DebateProtocol = reader.whole(reader.call, "',' or the end")
    return found
