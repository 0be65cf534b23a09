"""Who speaks when in a debate, what does each agent see, and when does it end?

There is a file per paper, with its protocols and their prompts. ``play`` has what all protocols share and the engine
that plays one debate. ``jury`` has the judges and jurors, ``recorded`` the agents that repeat a log, and ``readings``
finds out who reads whom. A new protocol is a class in a file of its own and is found by its name. Many debates are run,
within a budget, by :mod:`d3stats.run`. A protocol is written as text by its name and ``key=value`` after a
colon, as in ``chateval:referees=critic+scientist``, and ``protocol_from_text(str(protocol)) == protocol``.
"""

from d3stats._named import Reader, named
from d3stats.protocols.play import DebateProtocol, Outcome, RoundOver, Speak, drive, play_sync
from d3stats.protocols.readings import Schematic, schematic
from d3stats.protocols.recorded import ReplayAgent

__all__ = [
    "DebateProtocol",
    "Outcome",
    "ReplayAgent",
    "RoundOver",
    "Schematic",
    "Speak",
    "drive",
    "play_sync",
    "protocol_from_text",
    "protocols",
    "schematic",
]


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
