"""The net saving by size of the pilot is that of its formula, and agrees with plans of real pilots."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from d3stats.cli import app
from d3stats.planning import pilot_sizes, plan
from d3stats.planning.pilot_sizes import net_by_size
from d3stats.stopping import Unanimity
from d3stats.worlds import Voter, simulate_debates

WORLD = Voter(panel=5, accuracy=0.7)


def made(**more: object):  # type: ignore[no-untyped-def]
    settings = {
        "losses": np.tile([[0.0, 0.05]], (400, 1)), "misfit": np.zeros(2), "differ": np.zeros(2),
        "costs": np.tile([[6.0, 3.0]], (400, 1)),
        "unanimity": np.full(400, 10.0), "whole": 25.0, "n_debates": 50, "sizes": [100], "campaign": 1000,
        "max_loss": 0.01, "confidence": 0.9, "rng": 1,
    } | more  # fmt: skip
    return net_by_size(**settings).iloc[0]  # type: ignore[arg-type]


def test_a_sure_chain_gives_the_net_saving_by_hand() -> None:
    row = made()
    # The first ladder saves 40 %; the pilot is a tenth of the campaign and saves nothing, or costs 2.5 times as much.
    assert row["net"] == pytest.approx(0.9 * 0.4)
    assert row["net_to_the_end"] == pytest.approx(0.9 * 0.4 - 0.1 * 1.5)
    assert (row["saved"], row["found"], row["beyond"]) == (pytest.approx(0.4), 1.0, 0.0)
    assert made(max_loss=0.06)["saved"] == pytest.approx(0.7)
    assert made(max_loss=0.0, losses=np.full((400, 2), 0.02))["net"] == 0.0


def test_a_larger_pilot_finds_more_where_the_chain_is_unsure_and_the_loss_stays_within_its_limit() -> None:
    rng = np.random.default_rng(2)
    losses = 0.004 + 0.01 * rng.standard_normal((4000, 1))
    asked = {
        "losses": losses,
        "misfit": np.zeros(1),
        "differ": np.zeros(1),
        "costs": np.full((4000, 1), 5.0),
        "unanimity": np.full(4000, 10.0),
    }
    rows = [made(sizes=[size], campaign=100_000, **asked) for size in (25, 100, 400, 1600)]
    found = [row["found"] for row in rows]
    assert found == sorted(found)
    # Without a pilot before it, as many rules lose too much as the confidence allows, or fewer.
    assert all(row["beyond"] <= 0.1 * 1.2 for row in rows)
    misses = asked | {"misfit": np.array([0.02]), "differ": np.array([0.1])}
    wide = made(**misses, sizes=[400])
    assert wide["found"] < found[2]
    assert wide["beyond"] <= 0.1 * 1.2
    # A large pilot counts what the chain misses.
    assert made(**misses, sizes=[20_000], campaign=100_000)["found"] > wide["found"]


@pytest.mark.parametrize(
    ("sizes", "pilots"), [((50,), 3), pytest.param((50, 200), 6, marks=pytest.mark.slow)]
)
def test_the_saving_that_is_computed_for_a_size_is_no_more_than_that_of_plans_of_such_pilots(
    sizes: tuple[int, ...], pilots: int
) -> None:
    first = simulate_debates(WORLD, 100, 5, rng=3)
    computed = pilot_sizes(first, campaign=1000, sizes=sizes, n_draws=150).to_frame().set_index("size")
    fresh = simulate_debates(WORLD, 2_000, 5, rng=9)
    spent = np.cumsum(fresh.tokens, axis=1)
    row = np.arange(len(fresh))

    def cost(rule) -> float:  # type: ignore[no-untyped-def]
        return float(spent[row, rule.stop_rounds(fresh).rounds - 1].mean())

    for size in sizes:
        rules = [
            plan(simulate_debates(WORLD, size, 5, rng=100 + i), limit=False, n_draws=100, rng=1).rule
            for i in range(pilots)
        ]
        saved = np.array([1 - cost(rule) / cost(Unanimity()) for rule in rules])
        error = saved.std(ddof=1) / np.sqrt(len(saved)) + 0.05
        assert computed.loc[size, "saved"] - saved.mean() <= 4 * error
        assert computed.loc[size, "saved"] >= 0.4 * saved.mean()


def test_what_cannot_be_computed_is_refused() -> None:
    pilot = simulate_debates(WORLD, 30, 3, rng=1)
    with pytest.raises(ValueError, match="campaign must be at least 25, the smallest size"):
        pilot_sizes(pilot, campaign=10)
    with pytest.raises(ValueError, match="2 questions and 2 rounds"):
        pilot_sizes(simulate_debates(WORLD, 30, 1, rng=1))


@pytest.mark.usefixtures("computed_once")
def test_the_command_shows_the_sizes_beside_the_plan() -> None:
    words = ["plan", "slm7", "--no-limit", "--campaign", "500", "--n-draws", "100"]
    done = CliRunner().invoke(app, words, env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    assert "campaign of 500 debates" in " ".join(done.stdout.split())
    assert "if played to the end" in done.stdout
    document = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert [row["size"] for row in document["campaign"]["tables"]["sizes"]] == [25, 50, 100, 200, 400]
