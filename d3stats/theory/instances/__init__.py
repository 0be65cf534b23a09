"""On what are claims checked? Instances: frozen values with a readable ``str``, their numbers and their strategies.

A property that a claim assumes is built into the instances of its strategy; nothing is drawn and thrown away.
"""

from d3stats.theory.instances.advocates import Advocates, BestOf
from d3stats.theory.instances.beliefs import Discussion, Evidence, Listeners
from d3stats.theory.instances.draws import Dice, drawn
from d3stats.theory.instances.gaps import Course, GapDebate, GapPath, Trial
from d3stats.theory.instances.scores import Curves, Scores, Team
from d3stats.theory.instances.votes import Ballot, CountChain, Judge, TwoRounds

__all__ = [
    "Advocates",
    "Ballot",
    "BestOf",
    "CountChain",
    "Course",
    "Curves",
    "Dice",
    "Discussion",
    "Evidence",
    "GapDebate",
    "GapPath",
    "Judge",
    "Listeners",
    "Scores",
    "Team",
    "Trial",
    "TwoRounds",
    "drawn",
]
