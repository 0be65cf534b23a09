"""Jurors: their roles and prompt, the judging criteria, and how votes and a judge's points become a decision."""

from __future__ import annotations

import functools
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from d3stats._check import RngLike, as_rng, choice, integer
from d3stats.agent import Case, Message, Request, Slot
from d3stats.protocols.play import Outcome, anonymise, anonymous_case, preferred, settled

__all__ = [
    "CRITERIA",
    "DOMAINS",
    "MEANING",
    "Persona",
    "as_list",
    "curated",
    "explained",
    "judge_decides",
    "jurors",
    "jury",
    "jury_decides",
    "personas",
    "pool",
    "verdict",
]

DOMAINS = (
    "law",
    "medicine",
    "education",
    "technology",
    "ethics",
    "business",
    "social work",
    "risk analysis",
    "compliance",
)
"""The nine domains of D3's pool (appendix G.1)."""

KINDS = ("curated", "pool", "none")


@dataclass(frozen=True, slots=True)
class Persona:
    """A juror's role.

    Attributes
    ----------
    domain, role : str
    lens : str
        What a juror in that role looks for first.

    Examples
    --------
    >>> (one,) = personas(1, domain="medicine")
    >>> one.role
    'emergency physician'
    """

    domain: str
    role: str
    lens: str


@functools.cache
def _read() -> dict[str, tuple[Persona, ...]]:
    text = Path(__file__).with_name("personas.toml").read_text(encoding="utf-8")
    return {table: tuple(Persona(**row) for row in rows) for table, rows in tomllib.loads(text).items()}


def curated() -> tuple[Persona, ...]:
    """Return the five roles of D3's own jury.

    Returns
    -------
    tuple of Persona

    Examples
    --------
    >>> [persona.domain for persona in curated()]
    ['ethics', 'environment', 'business', 'social work', 'technology']
    """
    return _read()["curated"]


@functools.cache
def pool() -> tuple[Persona, ...]:
    """Return fifty roles over the nine domains, the domains in turn.

    Returns
    -------
    tuple of Persona

    Examples
    --------
    >>> len(pool()), [persona.domain for persona in pool()[:3]]
    (50, ['law', 'medicine', 'education'])
    """
    rows = _read()["pool"]
    before = [sum(other.domain == row.domain for other in rows[:i]) for i, row in enumerate(rows)]
    turn = sorted(range(len(rows)), key=lambda i: (before[i], DOMAINS.index(rows[i].domain)))
    return tuple(rows[i] for i in turn)


def personas(n: int, seed: RngLike = None, *, domain: str | None = None) -> tuple[Persona, ...]:
    """Return distinct roles of the pool.

    Parameters
    ----------
    n : int
        How many, at least 1.
    seed : Generator, int or None
        Draws them at random, as D3 draws its subsets of five; None takes the first, a different domain each.
    domain : str, optional
        From this domain only.

    Returns
    -------
    tuple of Persona

    Raises
    ------
    ValueError
        When there are not so many.

    Examples
    --------
    >>> [persona.role for persona in personas(2, domain="medicine")]
    ['emergency physician', 'epidemiologist']
    >>> personas(5, seed=1) == personas(5, seed=1)
    True
    """
    n = integer("n", n, minimum=1)
    known = pool()
    if domain is not None:
        choice("domain", domain, DOMAINS)
        known = tuple(persona for persona in known if persona.domain == domain)
    if n > len(known):
        where = "the pool" if domain is None else f"the domain {domain!r}"
        raise ValueError(f"n must be at most {len(known)}, the roles of {where}; got n={n}")
    if seed is None:
        return known[:n]
    return tuple(known[i] for i in as_rng(seed).permutation(len(known))[:n])


def jury(jurors: int, personas: str = "curated", seed: int = 0) -> tuple[Persona | None, ...]:
    """Return the roles of a jury.

    Parameters
    ----------
    jurors : int
        How many jurors vote.
    personas : {"curated", "pool", "none"}
        D3's five, and after them the pool in its order; or a draw from the pool; or jurors without a role.
    seed : int
        Seed of the draw.

    Returns
    -------
    tuple of (Persona or None)

    Raises
    ------
    ValueError
        When there are not so many roles.

    Examples
    --------
    >>> jury(5) == curated(), jury(2, "none")
    (True, (None, None))
    """
    jurors = integer("jurors", jurors, minimum=0)
    choice("personas", personas, KINDS)
    seed = integer("seed", seed, minimum=0)
    if personas == "none":
        return (None,) * jurors
    known = pool() if personas == "pool" else curated() + pool()
    if jurors > len(known):
        raise ValueError(f"jurors must be at most {len(known)}, the roles there are; got jurors={jurors}")
    return known[:jurors] if personas == "curated" else _drawn(jurors, seed)


@functools.cache
def _drawn(jurors: int, seed: int) -> tuple[Persona, ...]:
    return personas(jurors, seed) if jurors else ()


INSTRUCTION = (
    "You sit on a jury{role}. Below are a question, two answers to it, and the record of a debate about them: what "
    "was argued for each answer, and what the judge remarked and scored, which does not bind you. {lens}"
    "Vote for the answer that you find better, on your own judgment, and give your reasons in at most {words} words; "
    "point to what was said in the debate."
)


def jurors(
    case: Case,
    round_: int,
    rounds: int,
    record: Sequence[Message],
    panel: Sequence[Persona | None],
    words: int = 60,
) -> tuple[Request, ...]:
    """Return one request per juror, who reads the anonymised record and no other juror's vote.

    Speakers have neutral names; the names of systems are removed from the messages and from the candidates.

    Parameters
    ----------
    case : Case
        What is debated.
    round_, rounds : int
        After which round the jury is asked, and the most rounds there can be.
    record : sequence of Message
        The messages of the debate that the jurors read.
    panel : sequence of Persona or None
        Their roles.
    words : int
        The longest rationale.

    Returns
    -------
    tuple of Request

    Examples
    --------
    >>> case = Case("d1", "q1", "2 or 3?", ("A", "B"), ("two", "three"), first="A")
    >>> asked = jurors(case, 1, 1, [Message("advocate", 1, "A adds up.", side="A")], [None, None])
    >>> [request.agent for request in asked], asked[0].slot.answers
    (['juror 1', 'juror 2'], ('A', 'B'))
    """
    slot = Slot(case.answers, words=words)
    read, seen = anonymous_case(case), anonymise(record, case.names)
    return tuple(
        Request(
            read,
            round_,
            f"juror {j}",
            "juror",
            "vote",
            _instruction(who, words),
            slot,
            seen,
            rounds=rounds,
            persona=None if who is None else who.role,
        )
        for j, who in enumerate(panel, start=1)
    )


def _instruction(who: Persona | None, words: int) -> str:
    role = "" if who is None else f" in your role as {who.role}"
    lens = "" if who is None else f"In that role you look first at {who.lens}. "
    return INSTRUCTION.format(role=role, lens=lens, words=words)


def verdict(votes: Sequence[str | None], points: Mapping[str, float] | None, case: Case) -> str | None:
    """Return the answer with the most votes; among several such answers the one that the judge prefers, else a tie.

    A missing vote counts for no answer. Without any vote there is no verdict, because the judge's points only break a
    tie of votes that were cast (D3, 2.3). If the points leave a tie, :func:`~d3stats.protocols.play.settled` says what
    it means.

    Parameters
    ----------
    votes : sequence of (str or None)
        One per juror.
    points : mapping of str to float, or None
        The judge's points of each side.
    case : Case
        What is debated.

    Returns
    -------
    str or None

    Examples
    --------
    >>> case = Case("1", "q", "2 or 3?", ("A", "B"), ("2", "3"), "A")
    >>> verdict(["A", "B", None], {"A": 180.0, "B": 190.0}, case)
    'B'
    """
    counts = Counter(vote for vote in votes if vote is not None)
    leading = [answer for answer, count in counts.items() if count == max(counts.values())]
    if len(leading) == 1:
        return leading[0]
    judge = preferred(points, case.answers)
    return judge if judge in leading else settled(leading, case.sides, case.answers)


def jury_decides(
    votes: Sequence[str | None],
    points: Mapping[str, float] | None,
    case: Case,
    round_: int,
    reason: str,
    more: Mapping[str, float] | None = None,
) -> Outcome:
    """Close a debate with the jury's verdict; the reason is ``"no_votes"`` when no juror voted.

    Parameters
    ----------
    votes : sequence of (str or None)
        One per juror.
    points : mapping of str to float, or None
        The judge's points of each side.
    case : Case
        What is debated.
    round_ : int
        Rounds played.
    reason : str
        Why the debate stopped.
    more : mapping of str to float, optional
        Further numbers behind the decision.

    Returns
    -------
    Outcome

    Examples
    --------
    >>> case = Case("d1", "q1", "2 or 3?", ("A", "B"), ("two", "three"), first="A")
    >>> jury_decides(["A", "B", "B"], None, case, 1, "round_cap").decision
    'B'
    """
    counts = Counter(vote for vote in votes if vote is not None)
    detail = {f"votes {answer}": float(counts[answer]) for answer in case.answers or ()}
    detail["votes missing"] = float(len(votes) - counts.total())
    detail |= _points_of_sides(points) | dict(more or {})
    return Outcome(verdict(votes, points, case), round_, reason if counts else "no_votes", detail)


def judge_decides(
    points: Mapping[str, float] | None,
    case: Case,
    round_: int,
    reason: str,
    more: Mapping[str, float] | None = None,
) -> Outcome:
    """Close a debate with the judge's points alone; the reason is ``"no_scores"`` when there are none.

    Parameters
    ----------
    points : mapping of str to float, or None
        The judge's points of each side.
    case : Case
        What is debated.
    round_ : int
        Rounds played.
    reason : str
        Why the debate stopped.
    more : mapping of str to float, optional
        Further numbers behind the decision.

    Returns
    -------
    Outcome

    Examples
    --------
    >>> case = Case("d1", "q1", "2 or 3?", ("A", "B"), ("two", "three"), first="A")
    >>> judge_decides({"A": 41.0, "B": 39.0}, case, 1, "round_cap").decision
    'A'
    >>> judge_decides(None, case, 1, "round_cap").reason
    'no_scores'
    """
    detail = _points_of_sides(points) | dict(more or {})
    return Outcome(preferred(points, case.answers), round_, reason if points else "no_scores", detail)


def _points_of_sides(points: Mapping[str, float] | None) -> dict[str, float]:
    return {f"judge {side}": value for side, value in (points or {}).items()}


MEANING = {
    "relevance": "is it about what was asked?",
    "accuracy": "are its facts right and its sources good?",
    "depth": "how far does it go, and is anything missing?",
    "clarity": "is it well put, each thing in its place?",
    "reasoning": "does one step follow from the other, with facts behind it?",
    "rebuttal": "are the points of the other side met?",
}
"""The question of each criterion."""

CRITERIA = tuple(MEANING)
"""The names of the criteria, in the order of D3."""


def as_list(names: Sequence[str]) -> str:
    """Write names as a numbered list.

    Parameters
    ----------
    names : sequence of str
        What is listed.

    Returns
    -------
    str

    Examples
    --------
    >>> print(as_list(["depth", "clarity"]))
    1. depth
    2. clarity
    """
    return "\n".join(f"{i}. {name}" for i, name in enumerate(names, start=1))


def explained(names: Sequence[str] = CRITERIA) -> str:
    """Write criteria as a numbered list with what each of them asks.

    Parameters
    ----------
    names : sequence of str
        Criteria.

    Returns
    -------
    str

    Examples
    --------
    >>> print(explained(["relevance"]))
    1. relevance: is it about what was asked?
    """
    return as_list([f"{name}: {MEANING[name]}" for name in names])
