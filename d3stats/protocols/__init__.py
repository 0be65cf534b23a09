"""Who speaks when in a debate, what does each agent see, and when does it end?

There is a file per paper, with its protocols and their prompts. ``play`` has what all protocols share and the engine
that plays one debate. ``jury`` has the judges and jurors, ``recorded`` the agents that repeat a log, and ``readings``
finds out who reads whom. A new protocol is a class in a file of its own and is found by its name. Many debates are run,
within a budget, by :mod:`d3stats.run`. A protocol is written as text by its name and ``key=value`` after a
colon, as in ``chateval:referees=critic+scientist``, and ``protocol_from_text(str(protocol)) == protocol``.
"""

from d3stats.protocols.from_text import protocol_from_text, protocols
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
