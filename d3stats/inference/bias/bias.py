"""One audit of all judges of a table or log: by position, length, own family or persona."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Unpack, get_args

from d3stats._check import RngLike, choice
from d3stats.inference.bias.audit import Audits, each_judge
from d3stats.inference.bias.length import length_bias
from d3stats.inference.bias.persona import persona_effect
from d3stats.inference.bias.position import position_bias
from d3stats.inference.bias.self_preference import Against, self_preference
from d3stats.inputs.labels import StrataOf
from d3stats.inputs.verdicts import Votes
from d3stats.sources import Reading
from d3stats.sources.verdicts import judgments_with_strata

__all__ = ["bias"]

Kind = Literal["position", "verbosity", "self", "persona"]

_AUDITS: dict[str, Callable[..., Any]] = {
    "position": position_bias,
    "verbosity": length_bias,
    "self": self_preference,
    "persona": persona_effect,
}


def bias(
    source: Any,
    *,
    audit: Kind = "position",
    judges: Sequence[str] | None = None,
    votes: Votes | None = None,
    baseline: str = "none",
    against: Against = "disinterested",
    use_label: bool = True,
    level: float = 0.95,
    rng: RngLike = None,
    strata: StrataOf = None,
    **reading: Unpack[Reading],
) -> Audits[Any]:
    """Audit every judge for one bias: each with the function of that audit.

    Parameters
    ----------
    source : Judgments, or what :func:`d3stats.open` takes
        Verdicts on pairs of answers, or votes of personas; see :func:`d3stats.inference.bias.as_judgments`.
    audit : {"position", "verbosity", "self", "persona"}
        The bias to test for. The functions are :func:`position_bias`, :func:`length_bias`, :func:`self_preference` and
        :func:`persona_effect`.
    judges : sequence of str, optional
        Audit only this judge; by default all. In a log, an audit of personas takes them as the personas.
    votes : {"answer", "slot"}, optional
        Meaning of a vote: the name of an answer, or of a slot (A is the answer shown first); by default an answer.
    baseline : str
        For the audit "persona": the name of the judge without a persona.
    against : {"disinterested", "all"}
        For the audit "self": the other judges to compare with.
    use_label : bool
        For the audit "verbosity": compare only answers of equal quality, by the label.
    level : float
        Level of the intervals.
    rng : Generator, int or None
        Random numbers of the sign flips of the audit "position".
    strata : str, mapping or Series, optional
        The column that says an item's kind, or the kind of each item by its name: every estimate is then also made by
        stratum; see :mod:`d3stats.inference.comparison.strata`.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    Audits
        The results by judge; those that could not be audited are in ``not_audited``.

    Raises
    ------
    ValueError
        When a setting belongs to another audit, or no judge can be audited.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": [1, 1, 2, 2], "judge": "J", "order": ["AB", "BA"] * 2, "vote": list("AAAB")})
    >>> bias(table)["J"]["swap consistency"].value
    0.5
    """
    kind = choice("audit", audit, get_args(Kind))
    own: dict[str, tuple[str, Any, Any]] = {
        "baseline": ("persona", baseline, "none"),
        "against": ("self", against, "disinterested"),
        "use_label": ("verbosity", use_label, True),
        "rng": ("position", rng, rng),
    }
    for name, (its, value, default) in own.items():
        if its != kind and value != default:
            raise ValueError(f"{name} must come with audit={its!r}, not {kind!r}; got {name}={value!r}")
    data, kinds = judgments_with_strata(
        source, strata, votes=votes, decisions=kind == "position", personas=kind == "persona", **reading
    )
    settings: dict[str, Any] = {name: value for name, (its, value, _) in own.items() if its == kind}
    settings |= {"level": level, "strata": kinds}
    if kind == "persona" and "persona" not in data.table:
        found = persona_effect(data, personas=list(judges) if judges else None, **settings)
        return Audits({found.judge: found})
    return each_judge(_AUDITS[kind], data, judges, personas=kind == "persona", **settings)
