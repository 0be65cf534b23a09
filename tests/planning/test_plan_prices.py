"""Dollars of a plan are what the log itself would have cost: by round, kind of token and role."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from layers import sampled
from scipy import stats
from typer.testing import CliRunner

from d3stats import Trajectories
from d3stats.cli import app
from d3stats.planning import plan, replay
from d3stats.planning.plan import Plan
from d3stats.planning.prices import dollars_by_round, price_turns
from d3stats.stopping import from_text
from d3stats.worlds import Courtroom, PriceTable, Voter, simulate_debates

PRICES = PriceTable("2026-01-01", {"small": (0.5, 2.0), "large": (3.0, 15.0)})
RULES = ["fixed:1", "fixed:2", "full", "supermajority:0.8", "unanimity"]


def pilot_turns(seed: int, rounds: int = 4, debates: int = 24) -> pd.DataFrame:
    """Turns whose completions are 40 % of the tokens of round 1 and 5 % of those of the last round."""
    rng = np.random.default_rng(seed)
    share = np.geomspace(0.4, 0.05, rounds)
    rows = []
    for d in range(debates):
        right = rng.random(5) < (0.9 if d % 2 else 0.6)
        for r in range(rounds):
            for a in range(5):
                tokens = int(rng.integers(200, 400) * 2**r)
                written = round(tokens * share[r] * rng.uniform(0.8, 1.2))
                vote = "A" if right[a] else "B"
                rows.append((d, f"q{d // 2}", r + 1, f"a{a}", "juror", vote, "A", tokens - written, written))
            rows.append((d, f"q{d // 2}", r + 1, "adv", "advocate", None, "A", 900, 2700))
            lead = right.sum() > 2
            right = np.where(rng.random(5) < 0.4, lead, right)
    columns = ["debate", "question", "round", "agent", "role", "vote", "label", "tokens_in", "tokens_out"]
    return pd.DataFrame(rows, columns=columns).astype({"debate": str})


CACHED = PriceTable("2026-01-01", {"small": (0.5, 2.0), "large": (3.0, 15.0)}, {"small": 0.05})


def with_cache(turns: pd.DataFrame) -> pd.DataFrame:
    """A third of the prompt tokens of later rounds was cached; round 1 does not say."""
    cached = (turns["tokens_in"] // 3).where(turns["round"] > 1)
    return turns.assign(
        tokens_cached=cached.astype("Int64"), model=np.where(turns["role"] == "juror", "small", "large")
    )


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_cached_prompt_tokens_have_their_own_price(kind: str, tmp_path: Path) -> None:
    """As read from each format, against a sum over the turns, written out."""
    from d3stats.log import read_log, write_parquet
    from d3stats.log.schema import Item, Turn
    from d3stats.log.writer import LogWriter

    turns = with_cache(pilot_turns(3, rounds=3, debates=6))
    path = tmp_path / f"pilot.{kind}"
    if kind == "csv":
        turns.to_csv(path, index=False)
    elif kind == "parquet":
        turns.to_csv(tmp_path / "pilot.csv", index=False)
        write_parquet(tmp_path / "pilot.csv", path)
    else:
        with LogWriter(path) as log:
            for debate, rows in turns.groupby("debate"):
                log.write(Item(debate=debate, question=rows["question"].iloc[0], label="A"))
                for row in rows.drop(columns=["question", "label"]).to_dict("records"):
                    log.write(Turn(**{k: None if pd.isna(v) else v for k, v in row.items()}))
    read = read_log(path)
    assert read.turns["tokens_cached"].sum() == turns["tokens_cached"].sum()
    log = Trajectories.from_log(path)
    got = price_turns(read.turns, log, CACHED, roles=None)
    rows = turns.to_dict("records")
    for at, debate in enumerate(log.debates):
        for r in range(3):
            paid = 0.0
            for row in rows:
                if row["debate"] == debate and row["round"] == r + 1:
                    asked, answered = CACHED.models[row["model"]]
                    cached = 0 if pd.isna(row["tokens_cached"]) else row["tokens_cached"]
                    kept = 0.05 if row["model"] == "small" else 3.0
                    paid += (row["tokens_in"] - cached) * asked + cached * kept + row["tokens_out"] * answered
            assert got.dollars[at, r] == pytest.approx(paid / 1e6, rel=1e-12)
    large = int(turns.loc[turns["model"] == "large", "tokens_cached"].sum())
    assert (
        f"{large:,} cached prompt tokens have the full price, because the table has no cached price of large"
        in got.note
    )
    assert "small (0.5 and 2, cached 0.05)" in got.note
    whole = price_turns(read.turns.drop(columns="tokens_cached"), log, CACHED)
    assert "cached prompt" not in whole.note
    assert (got.dollars <= whole.dollars).all()
    assert (got.dollars[:, 1:] < whole.dollars[:, 1:]).all()


def test_more_cached_tokens_than_prompt_tokens_are_refused() -> None:
    turns = with_cache(pilot_turns(3, rounds=2, debates=4))
    turns["tokens_cached"] = turns["tokens_cached"] * 4
    with pytest.raises(
        ValueError, match=r"tokens_cached must be at most tokens_in; got \d+ of \d+ in debate '0', round 2"
    ):
        price_turns(turns, Trajectories.from_frame(turns.drop(columns="tokens_cached")), CACHED)


@pytest.mark.parametrize(
    ("cached", "message"),
    [
        ({"small": 0.6}, r"models.small.cached must be <= input \(0.5\); got 0.6"),
        ({"small": -1.0}, r"models.small.cached must be >= 0"),
        ({"other": 0.1}, r"cached must name models of the table \(small, large\); got 'other'"),
    ],
)
def test_a_cached_price_that_cannot_be_is_refused(cached: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PriceTable("2026-01-01", PRICES.models, cached)


MEDIAN_ERROR = 0.755
"""Error of the mean less the median of normal values, times the root of their number: sqrt(pi / 2 - 1)."""


def student(amount: np.ndarray, cluster: np.ndarray, level: float) -> tuple[float, float, float]:
    """Mean over debates with Student's t over questions of one size and its longer side, written out plainly."""
    mean, groups = amount.mean(), np.unique(cluster)
    away = np.array([(amount[cluster == g] - mean).sum() for g in groups]) / (len(amount) / len(groups))
    se = np.sqrt((away**2).sum() / (len(groups) - 1) / len(groups))
    half, n = stats.t.ppf((1 + level) / 2, len(groups) - 1) * se, len(groups)
    skew = (away**3).sum() / (away**2).sum() ** 1.5
    usual = np.sqrt(6 * (n - 2) / ((n + 1) * (n + 3)) / n) / 2
    # A long tail counts as far as the median of the questions is off their mean to its side.
    off = -np.sign(skew) * np.median(away) / np.sqrt((away**2).mean()) * np.sqrt(n) / MEDIAN_ERROR
    alike = np.clip(off - 0.5 + max(2 * (20 / n - 1), 0), 0, 1)
    longer = 1 + min(0.8 + 32 / n, 4) * max(abs(skew) - usual, 0) * alike
    return mean, mean - half * (longer if skew < 0 else 1), mean + half * (longer if skew > 0 else 1)


def check(made: Plan, log: Trajectories, paid: np.ndarray, polls: np.ndarray | float = 0.0) -> None:
    """Play every rule over the log, add up what its rounds cost, and compare with the plan.

    A rule that reads no votes leaves out the polls before its stop.
    """
    once = paid - polls
    table = made.to_frame().set_index("rule")
    names = [n for n in table.index if table.loc[n, "role"] != "limit"]
    stops = replay(log, [n for n in names if n not in ("unanimity", "full")]).per_debate()
    amounts = {
        name: np.array(
            [
                paid[d, :r].sum()
                if {"votes", "texts"} & from_text(name).reads
                else once[d, : r - 1].sum() + paid[d, r - 1]
                for d, r in enumerate(of["round"])
            ]
        )
        for name, of in stops.groupby("rule", sort=False)
    }
    for name in names:
        row = table.loc[name]
        mean, low, high = student(amounts[name], log.cluster, made.level)
        assert row["dollars"] == pytest.approx(mean, rel=1e-9)
        assert (row["dollars_low"], row["dollars_high"]) == pytest.approx((max(low, 0), high), rel=1e-9)
        assert row["total"] == pytest.approx(made.debates * mean, rel=1e-9)
        assert row["total_low"] <= made.debates * low
        assert row["total_high"] >= made.debates * high
        assert row["saved"] == pytest.approx(1 - amounts[name].sum() / amounts["unanimity"].sum(), rel=1e-9)
        assert row["total_unit"] == "dollars"


@sampled("seed", range(4), (0,))
def test_dollars_savings_and_intervals_are_those_of_the_replayed_log(seed: int) -> None:
    turns = pilot_turns(seed)
    log = Trajectories.from_frame(turns, roles=["juror"])
    assert log.tokens_out[:, 0].sum() / log.tokens[:, 0].sum() == pytest.approx(0.4, abs=0.02)
    assert log.tokens_out[:, 3].sum() / log.tokens[:, 3].sum() == pytest.approx(0.05, abs=0.01)
    made = plan(log, price=(1.0, 10.0), rules=RULES, limit=False, n_draws=40, rng=seed)
    jurors = turns[turns["role"] == "juror"]
    dollars = (jurors["tokens_in"] + 10 * jurors["tokens_out"]) / 1e6
    paid = pd.crosstab(jurors["debate"], jurors["round"], dollars, aggfunc="sum")
    check(made, log, paid.loc[list(log.debates)].to_numpy())
    blended = plan(log, price=1.0, rules=RULES, limit=False, n_draws=40, rng=seed)
    assert blended.to_frame()["dollars"].to_numpy() == pytest.approx(blended.to_frame()["tokens"] / 1e6)


@pytest.mark.parametrize("roles", [None, ["juror"], ["advocate", "juror"]])
def test_every_role_has_the_prices_of_its_model(roles: list[str] | None) -> None:
    turns = pilot_turns(7)
    log = Trajectories.from_frame(turns)
    part = Trajectories.from_frame(turns, roles=roles) if roles == ["juror"] else log
    found = (
        price_turns(turns, part, PRICES, model="small", role_models={"advocate": "large"}, roles=roles)
        if roles != ["juror"]
        else price_turns(turns, part, PRICES, model="small", roles=roles)
    )
    expected = np.zeros((24, 4))
    for turn in turns.itertuples():
        if roles is None or turn.role in roles:
            asked, answered = (3.0, 15.0) if turn.role == "advocate" else (0.5, 2.0)
            expected[int(turn.debate), turn.round - 1] += (
                turn.tokens_in * asked + turn.tokens_out * answered
            ) / 1e6
    np.testing.assert_allclose(found.dollars[[part.debates.index(str(d)) for d in range(24)]], expected)
    check(plan(part, dollars=found.dollars, rules=RULES, limit=False, n_draws=40, rng=1), part, found.dollars)


def test_turns_have_the_prices_of_the_model_that_the_log_names() -> None:
    turns = pilot_turns(3)
    turns["model"] = np.where(turns["role"] == "advocate", "large", "small")
    log = Trajectories.from_frame(turns)
    named = price_turns(turns, log, PRICES).dollars
    told = price_turns(turns, log, PRICES, model="small", role_models={"advocate": "large"}).dollars
    np.testing.assert_array_equal(named, told)


def test_the_price_of_every_round_is_its_own_in_simulated_worlds() -> None:
    log = simulate_debates(Courtroom(panel=3, poll="every_round"), 30, 4, rng=2)
    made = plan(log, price=(1.0, 4.0), rules=RULES, limit=False, n_draws=40, rng=1)
    polls = (log.poll_tokens_in + 4 * log.poll_tokens_out) / 1e6
    check(made, log, (log.tokens_in + 4 * log.tokens_out) / 1e6, polls)


def test_the_optimum_of_the_chain_is_priced_like_its_neighbours() -> None:
    log = simulate_debates(Voter(panel=3, accuracy=0.7), 40, 3, rng=1)
    one, two = (plan(log, price=p, n_draws=40, rng=1).to_frame() for p in (2.0, (2.0, 2.0)))
    columns = ["rounds", "tokens", "dollars", "saved", "total"]
    np.testing.assert_allclose(one[columns].to_numpy(float), two[columns].to_numpy(float), rtol=1e-9)
    limit = two[two["role"] == "limit"].iloc[0]
    assert limit["dollars"] == pytest.approx(limit["tokens"] * 2e-6, rel=1e-9)
    dear = plan(log, price=(0.0, 8.0), n_draws=40, rng=1).to_frame()
    bare = plan(log, n_draws=40, rng=1).to_frame()
    np.testing.assert_allclose(dear["tokens"].iloc[1:4], bare["tokens"].iloc[1:4])


def test_debates_without_their_kinds_are_left_out_of_dollars_and_said() -> None:
    turns = pilot_turns(5).astype({"tokens_out": "Int64"})
    turns.loc[(turns["debate"] == "3") & (turns["round"] == 2), "tokens_out"] = pd.NA
    log = Trajectories.from_frame(turns, roles=["juror"])
    made = plan(log, price=(1.0, 10.0), rules=RULES, limit=False, n_draws=40, rng=1)
    paid = dollars_by_round(log, (1.0, 10.0))
    whole = log.select(~np.isnan(paid).any(axis=1))
    row = made.to_frame().set_index("rule").loc["full"]
    assert row["dollars"] == pytest.approx(np.nansum(dollars_by_round(whole, (1.0, 10.0))) / len(whole))
    assert any("1 debate has a round without tokens" in note for note in made.notes)


def test_prices_of_nothing_leave_tokens_to_choose_by() -> None:
    log = simulate_debates(Voter(panel=3), 30, 3, rng=1)
    free, bare = (plan(log, price=p, limit=False, n_draws=40, rng=1) for p in (0.0, None))
    assert str(free.rule) == str(bare.rule)
    table = free.to_frame()
    assert (table["dollars"] == 0).all()
    assert set(table["total_unit"]) == {"tokens"}
    np.testing.assert_array_equal(table["saved"], bare.to_frame()["saved"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"price": (1.0, 2.0)}, "price must be one number when the log does not record"),
        ({"price": (1.0, -2.0)}, "price must be finite and >= 0"),
        ({"price": (1.0, 2.0, 3.0)}, "price must have one value per row"),
        ({"price": 1.0, "dollars": np.ones((30, 3))}, "price must not be given together with dollars"),
        (
            {"dollars": np.ones((30, 2))},
            r"dollars must have shape \(debates, rounds\), here \(30, 3\); got \(30, 2\)",
        ),
        ({"dollars": -np.ones((30, 3))}, "dollars must be finite and >= 0"),
        ({"dollars": np.full((30, 3), np.nan)}, "dollars must come with tokens"),
    ],
)
def test_prices_that_cannot_be_meant_are_refused(given: dict, message: str) -> None:
    drawn = simulate_debates(Voter(panel=3), 30, 3, rng=1)
    votes = np.array(drawn.answers, dtype=object)[drawn.votes]
    log = Trajectories.from_arrays(votes, np.array(drawn.answers)[drawn.label], tokens=drawn.tokens)
    with pytest.raises(ValueError, match=message):
        plan(log, **given)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("prices")
    turns = pilot_turns(11)
    turns.to_csv(made / "log.csv", index=False)
    turns.assign(tokens=turns["tokens_in"] + turns["tokens_out"]).drop(
        columns=["tokens_in", "tokens_out"]
    ).to_csv(made / "totals.csv", index=False)
    lines = ['date = "2026-01-01"']
    lines += [f"[models.{n}]\ninput = {a}\noutput = {b}" for n, (a, b) in PRICES.models.items()]
    (made / "prices.toml").write_text("\n".join(lines) + "\n")
    return made


def planned(folder: Path, log: str, *options: str) -> tuple[int, str]:
    arguments = [
        "plan",
        str(folder / log),
        "--prices",
        str(folder / "prices.toml"),
        "--no-limit",
        "--n-draws",
        "50",
        *options,
    ]
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, result.output


def test_a_role_is_not_charged_what_another_role_writes(folder: Path) -> None:
    code, text = planned(folder, "log.csv", "--model", "small", "--role", "juror", "--json")
    assert code == 0, text
    turns = pilot_turns(11)
    first = turns[(turns["role"] == "juror") & (turns["round"] == 1)]
    rows = {row["rule"]: row for row in json.loads(text)["rules"]}
    expected = (0.5 * first["tokens_in"] + 2.0 * first["tokens_out"]).sum() / 24 / 1e6
    assert rows["fixed:1"]["dollars"] == pytest.approx(expected, rel=1e-9)
    assert "as logged" in json.loads(text)["prices"]


def test_the_commands_role_models_are_those_of_the_library(folder: Path) -> None:
    code, text = planned(folder, "log.csv", "--model", "small", "--role-model", "advocate=large", "--json")
    assert code == 0, text
    turns = pilot_turns(11)
    log = Trajectories.from_frame(turns)
    paid = price_turns(turns, log, PRICES, model="small", role_models={"advocate": "large"}).dollars
    rows = {row["rule"]: row for row in json.loads(text)["rules"]}
    assert rows["full"]["dollars"] == pytest.approx(paid.sum() / 24, rel=1e-9)


def test_totals_are_split_by_a_share_that_is_said(folder: Path) -> None:
    for options, share, words in ((), 0.15, "assumed"), (("--output-share", "0.3"), 0.3, "as given"):
        code, text = planned(folder, "totals.csv", "--model", "small", "--json", *options)
        assert code == 0, text
        rows = {row["rule"]: row for row in json.loads(text)["rules"]}
        blended = (1 - share) * 0.5 + share * 2.0
        assert rows["full"]["dollars"] == pytest.approx(rows["full"]["tokens"] * blended / 1e6)
        assert (
            f"{100 * share:.0f} % of all tokens counted as completion tokens ({words}"
            in json.loads(text)["prices"]
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "model must be one of 'large', 'small'; got none"),
        (["--model", "mine"], "model must be one of 'large', 'small'; got model='mine'"),
        (["--model", "small", "--role-model", "judge=large"], "got the role 'judge'"),
        (["--model", "small", "--role-model", "advocate"], "--role-model must be ROLE=NAME"),
        (["--model", "small", "--output-share", "30"], "30 % is written 0.3"),
    ],
)
def test_what_cannot_be_priced_is_one_clear_line(folder: Path, options: list[str], message: str) -> None:
    code, text = planned(folder, "log.csv", *options)
    assert code == 1
    assert message in text
    assert len(text.strip().splitlines()) == 1
