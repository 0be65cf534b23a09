"""Simulation studies: worlds x rules x seeds, as a value and as a file that a person writes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import starmap
from operator import add, mul
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats._check import choice, integer, meant, number
from d3stats._words import cut, visible
from d3stats.planning.costs import MEASURES, as_rules, bill, can_run, outcomes
from d3stats.planning.ledger_policy import PREFIX, LedgerPolicy
from d3stats.planning.prices import Price
from d3stats.polling import reads_votes
from d3stats.sources import read_toml
from d3stats.stopping import FullDepth, Rule, StoppingRule, Unanimity, from_text
from d3stats.trajectories import MISSING, Missing, Trajectories
from d3stats.worlds import World, from_table

__all__ = [
    "COLUMNS",
    "PAIRS",
    "PIECE",
    "RATIOS",
    "Cell",
    "Chunk",
    "Study",
    "Sums",
    "added",
    "cuts",
    "play_chunk",
    "read_study",
    "sums_of_rules",
    "whole_batches",
]

COLUMNS = (
    "debates",
    "rounds",
    "tied",
    "scored",
    "correct",
    "compared",
    "agrees",
    "judged",
    "gained",
    "lost",
    "early",
    "premature",
    "known_tokens",
    "tokens",
    "tokens_in",
    "tokens_out",
    "unanimity_rounds",
    "unanimity_tokens",
    "full_rounds",
    "full_tokens",
    "labelled",
    "net_correct",
    "campaigns",
    "over",
    "lost_verdicts",
)
"""The summed quantities, one value per debate; a flag is 0 or 1, ``net_correct`` also -1.

Campaigns of a ledger are counted at their first debate.
"""

RATIOS = {
    **{
        name: MEASURES[name]
        for name in ("rounds", "accuracy", "agreement", "gained", "lost", "premature", "tied", "tokens")
    },
    "tokens_in": ("tokens_in", "known_tokens"),
    "tokens_out": ("tokens_out", "known_tokens"),
    **{
        f"{cost}_of_{rule}": (cost, f"{rule}_{cost}")
        for cost in ("rounds", "tokens")
        for rule in ("unanimity", "full")
    },
    "accuracy_minus_baseline": ("net_correct", "labelled"),
    "over": ("over", "campaigns"),
    "lost_verdicts": ("lost_verdicts", "campaigns"),
}
"""Every measure is the sum of one column over the sum of another."""

PAIRS = tuple(
    dict.fromkeys(
        [
            *(
                pair
                for above, below in RATIOS.values()
                for pair in ((above, above), (above, below), (below, below))
            ),
            # Dollars are a sum of both kinds.
            ("tokens_in", "tokens_out"),
        ]
    )
)
"""The products whose sums the standard errors need."""

PIECE = 8192
"""Debates that a worker holds at a time."""

EXACT = 2**53
"""Below this every sum of whole numbers is exact in float64, in any order."""

Matrix = NDArray[np.float64]

Policy = StoppingRule | LedgerPolicy


@dataclass(frozen=True)
class Sums:
    """The sums of one rule over some debates; ``a + b`` is the sum over both.

    Attributes
    ----------
    units : int
        Independent units: debates, or batches for a rule that decides for a batch.
    totals : tuple of int
        Sum of each of ``COLUMNS``.
    products : tuple of int
        Sum over units of the product of each of ``PAIRS``.
    stops : tuple of int
        Debates by round played, 0 to the last, and for each round six kinds: wrong, right, unscored, then
        the same three with a tie.
    """

    units: int
    totals: tuple[int, ...]
    products: tuple[int, ...]
    stops: tuple[int, ...]

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.units + other.units,
            tuple(map(add, self.totals, other.totals)),
            tuple(map(add, self.products, other.products)),
            tuple(map(add, self.stops, other.stops)),
        )


@dataclass(frozen=True)
class Chunk:
    """The result of a chunk: the debates ``first`` to ``first + n_debates - 1`` of one world and seed.

    Attributes
    ----------
    world, seed : int
        Which cell, by the position of the world and by the seed in the study.
    sums : tuple of Sums
        One per rule.
    """

    world: int
    seed: int
    first: int
    n_debates: int
    sums: tuple[Sums, ...]


@dataclass(frozen=True)
class Cell:
    """The common part of all chunks of one world and seed.

    Attributes
    ----------
    name : str
        Name of the world, for messages.
    at : tuple of int
        Position of the world, and the seed, in the study.
    stream : int
        The seed that the simulator gets.
    """

    name: str
    world: World
    at: tuple[int, int]
    stream: int
    rules: tuple[Policy, ...]
    n_rounds: int
    missing: Missing
    batch: int | None


def play_chunk(cell: Cell, first: int, n_debates: int) -> Chunk:
    """Draw the debates, stop them by every rule and sum up, a piece at a time, so that memory stays small."""
    from d3stats.worlds import simulate_debates

    total: tuple[Sums, ...] | None = None
    try:
        for start, end in cuts(first, first + n_debates, whole_batches(PIECE, cell.batch)):
            drawn = simulate_debates(cell.world, end - start, cell.n_rounds, rng=cell.stream, first=start)
            sums = sums_of_rules(drawn, cell.rules, cell.missing, cell.batch, first=start, stream=cell.stream)
            total = sums if total is None else added(total, sums)
    except (TypeError, ValueError) as error:
        raise ValueError(f"world {cell.name!r}: {error}") from error
    assert total is not None, "a chunk holds at least one debate"
    return Chunk(*cell.at, first, n_debates, total)


def added(a: tuple[Sums, ...], b: tuple[Sums, ...]) -> tuple[Sums, ...]:
    """Add rule by rule."""
    return tuple(map(add, a, b))


def whole_batches(size: int, batch: int | None) -> int:
    """Return `size`, rounded up to whole batches."""
    return size if batch is None else -(-size // batch) * batch


def cuts(first: int, end: int, step: int) -> Iterator[tuple[int, int]]:
    """Cut a range at the multiples of `step`, where the blocks and batches of the stream begin too."""
    while first < end:
        stop = min((first // step + 1) * step, end)
        yield first, stop
        first = stop


def sums_of_rules(
    trajectories: Trajectories,
    rules: Sequence[Policy],
    missing: Missing,
    batch: int | None,
    *,
    first: int = 0,
    stream: int = 0,
) -> tuple[Sums, ...]:
    """Stop the debates by every rule and sum up; `rules` holds unanimity and full depth.

    The coins of a ledger depend on the stream, and on the number `first` of the first debate in it.
    """
    t = trajectories
    unknown = np.full((len(t), t.n_rounds + 1), np.nan)
    bills = {}
    for asks, one in ((True, Unanimity()), (False, FullDepth())):
        spent = {kind: bill(t, one, kind) for kind in ("tokens", "tokens_in", "tokens_out")}
        bills[asks] = {kind: unknown if cost is None else np.rint(cost) for kind, cost in spent.items()}
    unanimity = next(rule for rule in rules if isinstance(rule, Unanimity))
    full = next(rule for rule in rules if isinstance(rule, FullDepth))
    base, deep = (
        outcomes(t, rule.stop_rounds(t).rounds, missing, **bills[reads_votes(rule)])
        for rule in (unanimity, full)
    )
    # What cannot be run is no baseline.
    usual = base if can_run(t, unanimity) else deep
    common = {
        f"{name}_{cost}": result.column(cost)
        for name, result in (("unanimity", base), ("full", deep))
        for cost in ("rounds", "tokens")
    }
    labelled = (t.label != MISSING).astype(np.float64)
    result = []
    nothing = np.zeros(len(t))
    for rule in rules:
        campaigns = dict.fromkeys(("campaigns", "over", "lost_verdicts"), nothing)
        try:
            if isinstance(rule, LedgerPolicy):
                stops, campaigns = _campaigns(rule, t, first, stream, deep.rounds)
            else:
                stops = (
                    base.rounds
                    if rule is unanimity
                    else deep.rounds
                    if rule is full
                    else _stops(rule, t, batch)
                )
            mine = outcomes(t, stops, missing, **bills[reads_votes(rule)])
        except (TypeError, ValueError) as error:
            raise ValueError(f"rule {rule}: {error}") from error
        # As in losses_of_debates: a debate without a verdict at a stop is not right there, and stays in.
        net = mine.column("correct") - usual.column("correct")
        table = {**common, "labelled": labelled, "net_correct": net, **campaigns}
        kind = np.where(mine.scored, mine.correct, 2) + 3 * mine.tied
        kinds = np.bincount(mine.rounds * 6 + kind, minlength=6 * (t.n_rounds + 1))
        units = np.stack([table[name] if name in table else mine.column(name) for name in COLUMNS])
        if not isinstance(rule, Rule):
            assert batch is not None, "the study asks for a batch"
            units = np.add.reduceat(units, np.arange(0, len(t), batch), axis=1)
        result.append(_summed(units, kinds))
    return tuple(result)


def _campaigns(
    policy: LedgerPolicy, t: Trajectories, first: int, stream: int, full: NDArray[np.int64]
) -> tuple[NDArray[np.int64], dict[str, Matrix]]:
    """Return the stops under a ledger, and by debate: campaigns begun, campaigns over the limit, verdicts lost."""
    begun = (np.arange(len(t)) % policy.ledger.n == 0).astype(np.float64)
    if not can_run(t, policy.ledger.rule):  # no row is made of these
        return full, {"campaigns": begun, "over": 0 * begun, "lost_verdicts": 0 * begun}
    stops, loss = policy.stops(t, first, stream)
    lost = loss.reshape(-1, policy.ledger.n).sum(axis=1)
    over = np.zeros(len(t))
    over[:: policy.ledger.n] = lost > policy.ledger.allowed
    return stops, {"campaigns": begun, "over": over, "lost_verdicts": loss.astype(np.float64)}


def _stops(rule: StoppingRule, trajectories: Trajectories, batch: int | None) -> NDArray[np.int64]:
    if isinstance(rule, Rule) or batch is None:
        return rule.stop_rounds(trajectories).rounds
    n = trajectories.n_debates
    parts = (trajectories.select(np.arange(at, min(at + batch, n))) for at in range(0, n, batch))
    return np.concatenate([rule.stop_rounds(part).rounds for part in parts])


def _summed(units: Matrix, stops: NDArray[np.int64]) -> Sums:
    largest = np.abs(units).max(axis=1)
    at = {name: i for i, name in enumerate(COLUMNS)}
    products = (_dot(units[at[a]], units[at[b]], float(largest[at[a]] * largest[at[b]])) for a, b in PAIRS)
    ones = np.ones(units.shape[1])
    totals = (_dot(column, ones, float(top)) for column, top in zip(units, largest, strict=True))
    return Sums(units.shape[1], tuple(totals), tuple(products), tuple(stops.tolist()))


def _dot(a: Matrix, b: Matrix, largest: float) -> int:
    """Sum of products of whole numbers, exactly."""
    if largest * len(a) < EXACT:
        return int(a @ b)
    if largest >= EXACT:
        return sum(starmap(mul, zip(map(int, a.tolist()), map(int, b.tolist()), strict=True)))
    half = len(a) // 2
    return _dot(a[:half], b[:half], largest) + _dot(a[half:], b[half:], largest)


@dataclass(frozen=True, init=False)
class Study:
    """Worlds x rules x seeds: every rule is replayed on the same debates.

    Parameters
    ----------
    worlds : mapping of str to World, or sequence of World
        By the name that tables show; without names, the world's own and its number.
    rules : sequence of rule or text
        Unanimity and full depth are added when absent; savings are measured against the first ``Unanimity``. A rule
        that the protocol of a world cannot be run with has no row for that world. ``"ledger:eps=.01,delta=.1"`` is a
        :class:`d3stats.Ledger`, whose campaigns have `batch` debates each; ``incumbent=`` may be its last setting.
    n_rounds : int
        Full depth.
    debates : int
        Debates of each cell, a cell being one world with one seed.
    seeds : sequence of int, or int
        The streams of debates; a number n means 0 to n - 1.
    batch : int, optional
        Debates that a rule for a whole batch sees at once, counted from the start of the stream. Needed when
        there is such a rule, and then `debates` must be a multiple of it.
    chunk : int
        Debates of one task, which is also what a killed run loses; changes the speed, never the result.
    missing : {"exclude", "wrong"}
        What a debate without a verdict counts as.
    dollars_per_million_tokens : float or (float, float), optional
        One price for all tokens, or the prices of prompt and of completion tokens.
    common_random_numbers : bool
        Whether all worlds draw from the same streams, so that differences between worlds are steadier. Rules
        are on the same debates either way.

    Examples
    --------
    >>> from d3stats.worlds import Voter
    >>> study = Study(worlds={"null": Voter()}, rules=["fixed:2"], n_rounds=8, debates=1000, seeds=2)
    >>> study.names, study.seeds
    (('fixed:2', 'unanimity', 'full'), (0, 1))
    >>> study.runs(study.worlds["null"], study.rules[0])
    True
    >>> study.stream(world=0, seed=1) == study.stream(world=0, seed=1), len(study.key()) > 8
    (True, True)
    """

    worlds: Mapping[str, World]
    rules: tuple[Policy, ...]
    n_rounds: int
    debates: int
    seeds: tuple[int, ...]
    batch: int | None
    chunk: int
    missing: Missing
    dollars_per_million_tokens: Price | None
    common_random_numbers: bool

    def __init__(
        self,
        *,
        worlds: Mapping[str, World] | Sequence[World],
        rules: Sequence[Policy | str],
        n_rounds: int,
        debates: int,
        seeds: Sequence[int] | int = 1,
        batch: int | None = None,
        chunk: int = PIECE,
        missing: Missing = "exclude",
        dollars_per_million_tokens: Price | None = None,
        common_random_numbers: bool = True,
    ) -> None:
        price = dollars_per_million_tokens
        checked = {
            "worlds": MappingProxyType(_by_name(worlds)),
            "rules": policies_of(rules, batch),
            "n_rounds": integer("n_rounds", n_rounds, minimum=1),
            "debates": integer("debates", debates, minimum=1),
            "seeds": _seeds(seeds),
            "batch": None if batch is None else integer("batch", batch, minimum=1),
            "chunk": integer("chunk", chunk, minimum=1),
            "missing": choice("missing", missing, ("exclude", "wrong")),
            "dollars_per_million_tokens": _price(price),
            "common_random_numbers": bool(common_random_numbers),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        whole = [str(rule) for rule in self.rules if not isinstance(rule, Rule)]
        if whole and self.batch is None:
            raise ValueError(
                f"batch must be given when a rule decides for a whole batch, here {whole[0]}; got none"
            )
        if self.batch is not None and self.debates % self.batch:
            raise ValueError(
                f"debates must be a multiple of batch; got debates={self.debates}, batch={self.batch}"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """``str(rule)`` of each rule."""
        return tuple(map(str, self.rules))

    def runs(self, world: World, rule: Policy) -> bool:
        """Return whether the protocol that a world draws can be run with a rule."""
        return self.n_rounds == 1 or world.polling is None or not world.polling.refuses(rule)

    @property
    def step(self) -> int:
        """Debates of a chunk: `chunk`, rounded up to whole batches."""
        return whole_batches(self.chunk, self.batch)

    def stream(self, world: int, seed: int) -> int:
        """Return the seed that the simulator gets for a cell."""
        if self.common_random_numbers:
            return seed
        import numpy as np

        words = np.random.SeedSequence(seed, spawn_key=(world,)).generate_state(2, np.uint64)
        return int(words[0])

    def key(self) -> str:
        """Return what a debate's result depends on, as a short hash: all but seeds, debates, chunk and price.

        So a study may be given more seeds and more debates later, and what is done stays done. The source of all
        samplers and rules is part of it: once they have changed, old sums are not added to new ones.
        """
        parts = {
            "code": _code(),
            "worlds": [[name, repr(world)] for name, world in self.worlds.items()],
            "rules": self.names,
            "n_rounds": self.n_rounds,
            "batch": self.batch,
            "missing": self.missing,
            "common_random_numbers": self.common_random_numbers,
        }
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


_DECIDES = (
    *("worlds", "stopping", "models", "resampling", "agent.py"),
    *(
        "log/deciding.py",
        "polling.py",
        "trajectories.py",
        "counts.py",
        "values.py",
        "_check.py",
        "_named.py",
        "log/arrays.py",
        "log/columns.py",
        "log/deciding.py",
    ),
    *("planning/study.py", "planning/costs.py", "planning/ledger_policy.py", "planning/ledger.py"),
    *("planning/campaigns.py", "planning/ladders.py"),
)
"""Folders and files of the package that samplers, rules and sums are made of."""


@cache
def _code(root: Path | None = None) -> str:
    """Return a hash of the source that decides what a debate's sums are."""
    package = Path(__file__).resolve().parents[1] if root is None else root
    found = hashlib.sha256()
    for name in _DECIDES:
        place = package / name
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            found.update(str(file.relative_to(package)).encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()


def _price(given: Any) -> Price | None:
    name = "dollars_per_million_tokens"
    if given is None:
        return None
    if isinstance(given, (tuple, list)):
        if len(given) != 2:
            raise ValueError(
                f"{name} must be one price, or those of prompt and completion tokens; got {given!r}"
            )
        asked, answered = (number(name, price, minimum=0.0) for price in given)
        return asked, answered
    return number(name, given, minimum=0.0)


def _by_name(worlds: Mapping[str, World] | Sequence[World]) -> dict[str, World]:
    if isinstance(worlds, Mapping):
        named = {str(name): world for name, world in worlds.items()}
    else:
        several = len(worlds) > 1
        named = {
            f"{getattr(world, 'name', '?')}{f' {i}' if several else ''}": world
            for i, world in enumerate(worlds, start=1)
        }
    if not named:
        raise ValueError("worlds must hold at least one world; got none")
    for world in named.values():
        if not isinstance(world, World):
            raise TypeError(f"worlds must be values of d3stats.worlds; got {world!r}")
    return named


def policies_of(rules: Sequence[Policy | str], batch: int | None) -> tuple[Policy, ...]:
    read: list[Policy] = []
    for one in rules:
        if isinstance(one, str):
            of_ledger = one.startswith(PREFIX)
            read.append(LedgerPolicy.from_text(one, batch) if of_ledger else from_text(one))
        else:
            read.append(one)
    names = [str(one) for one in read]
    ledgers = [one for one in read if isinstance(one, LedgerPolicy)]
    every, _ = as_rules([one for one in read if not isinstance(one, LedgerPolicy)], baselines=True)
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"rules must be different; got {twice[0]!r} twice")
    return (*every, *ledgers)


def _seeds(seeds: Sequence[int] | int) -> tuple[int, ...]:
    if not isinstance(seeds, Sequence):
        return tuple(range(integer("seeds", seeds, minimum=1, maximum=1_000_000)))
    read = tuple(integer("seeds", seed, minimum=0) for seed in seeds)
    if not read or len(set(read)) < len(read):
        raise ValueError(f"seeds must be different and at least one; got {list(seeds)}")
    return read


def read_study(path: str | Path) -> Study:
    """Read a study file.

    Parameters
    ----------
    path : path
        TOML: ``rules``, ``n_rounds``, ``debates`` and ``[[worlds]]`` tables, each with the ``name`` of a
        world, its parameters and, if wanted, a ``label`` for tables; optional ``seeds, batch, chunk, missing,
        common_random_numbers`` and ``[prices]`` with ``dollars_per_million_tokens``: one price, or
        ``[prompt, completion]``. See :class:`Study`.

    Returns
    -------
    Study

    Raises
    ------
    ValueError
        The message is one line with file, key, requirement and value.
    FileNotFoundError
        When there is no such file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "study.toml"
    >>> _ = path.write_text('''
    ... rules = ["unanimity", "fixed:2"]
    ... n_rounds = 8
    ... debates = 1000
    ... [[worlds]]
    ... name = "voter"
    ... panel = 5
    ... ''')
    >>> list(read_study(path).worlds)
    ['voter:panel=5']
    """
    raw = read_toml(
        path,
        "a study",
        "d3stats simulate --like LOG simulates a world fitted to a log, and d3stats calibrate LOG -o study.toml "
        "writes a study",
    )
    if not raw:
        raise ValueError(
            f"{path}: a study must have rules, n_rounds, debates and a table [[worlds]]; got an empty file; "
            "d3stats calibrate LOG -o study.toml writes a study"
        )
    try:
        _check_file(raw)
    except ValueError as error:
        raise ValueError(f"{path}: {visible(cut(str(error), 1000), one_line=True)}") from None
    given = dict(raw)
    price = given.pop("prices", {})
    worlds: dict[str, World] = {}
    for at, table in enumerate(map(dict, given.pop("worlds")), start=1):
        where = f"{path}: worlds, table {at}"
        label = str(table.pop("label", None) or _label(table))
        if label in worlds:
            raise ValueError(f"{where}: label must be different for each world; got {label!r} twice")
        try:
            worlds[label] = from_table(table)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{where}: {visible(cut(str(error), 1000), one_line=True)}") from None
    try:
        return Study(worlds=worlds, **given, **price)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {visible(cut(str(error), 1000), one_line=True)}") from None


def _label(table: Mapping[str, Any]) -> str:
    shown = ",".join(_assignments({key: value for key, value in table.items() if key != "name"}))
    return f"{table['name']}:{shown}" if shown else str(table["name"])


def _assignments(table: Mapping[str, Any], inside: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _assignments(value, f"{inside}{key}.")
        else:
            yield f"{inside}{key}={value}"


_TYPES: dict[str, tuple[str, tuple[type, ...]]] = {
    "n_rounds": ("an integer", (int,)),
    "debates": ("an integer", (int,)),
    "seeds": ("an integer or a list of integers", (int, list)),
    "batch": ("an integer", (int,)),
    "chunk": ("an integer", (int,)),
    "missing": ("text", (str,)),
    "prices": ("a table", (dict,)),
    "common_random_numbers": ("true or false", (bool,)),
}
"""The keys of a study beside its rules and worlds, and what TOML may hold there; `Study` checks the values."""

_NEEDED = ("worlds", "rules", "n_rounds", "debates")
_PRICE = "dollars_per_million_tokens"


def _check_file(raw: Mapping[str, Any]) -> None:
    """Refuse a study file with unknown keys, without a needed one, or with a value of another type."""
    known = (*_NEEDED[:2], *_TYPES)
    for key in raw:
        if key not in known:
            raise ValueError(f"key must be one of {', '.join(known)}; got {key!r}{meant(key, known)}")
    for key in _NEEDED:
        if key not in raw:
            raise ValueError(f"{key} must be given; got none")
    for key, (words, types) in _TYPES.items():
        value = raw.get(key, types[0]())
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise ValueError(f"{key} must be {words}; got {value!r}")
    for key, words, kind in (("rules", "text", str), ("worlds", "a table", dict)):
        if not isinstance(raw[key], list) or not raw[key]:
            raise ValueError(f"{key} must be a list of at least one; got {raw[key]!r}")
        for at, one in enumerate(raw[key], start=1):
            if not isinstance(one, kind):
                raise ValueError(f"{key}.{at} must be {words}; got {one!r}")
    for at, table in enumerate(raw["worlds"], start=1):
        if not isinstance(table.get("name"), str):
            got = repr(table["name"]) if "name" in table else "none"
            raise ValueError(f"worlds.{at}.name must be given; got {got}")
    if "prices" in raw and _PRICE not in raw["prices"]:
        raise ValueError(f"prices.{_PRICE} must be given; got none")
    for key, value in raw.get("prices", {}).items():
        if key != _PRICE:
            raise ValueError(f"prices.{key} must be {_PRICE}; got {value!r}")
