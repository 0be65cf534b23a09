"""``d3stats fit --bayes``: the mixtures of all rounds by their Bayesian twin."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import d3stats
from d3stats.cli import app
from d3stats.models.bayes.rounds import fit_rounds
from d3stats.worlds import Voter, simulate_debates


def test_the_twin_of_a_report_is_the_fit_of_its_counts() -> None:
    log = simulate_debates(Voter(panel=5), 40, 2, rng=1)
    few = {"draws": 100, "tune": 100, "chains": 1}
    report = d3stats.fit(log, n_components=1, n_boot=0)
    twin, own = report.bayes(rng=1, **few), fit_rounds(log.counts(), n_components=1, rng=1, **few)  # type: ignore[arg-type]
    assert twin.params.equals(own.params)
    assert twin.rounds == (1, 2)
    shares = [100 * twin.params[f"accuracy[{at}]"] for at in (0, 1)]
    assert all(f"{share:.1f} [" in twin.headline for share in shares)


@pytest.mark.parametrize("other", [["--round", "1"], ["--level", "0.9"], ["--n-boot", "50"]])
def test_what_the_twin_does_not_take_is_refused(other: list[str]) -> None:
    run = CliRunner().invoke(app, ["fit", "slm7", "--bayes", *other])
    assert run.exit_code == 1
    assert f"{other[0]} must come without --bayes" in " ".join(run.output.split())


@pytest.mark.slow
def test_the_terminal_prints_the_posterior_near_the_fit(tmp_path: Path) -> None:
    path = tmp_path / "twin.json"
    run = CliRunner().invoke(app, ["fit", "slm7", "--bayes", "--json"])
    path.write_text(run.output)
    found = {each["name"]: each["value"] for each in json.loads(run.output)["estimates"]}
    fitted = d3stats.fit("slm7", n_boot=0).to_frame()["mean"].to_numpy()
    np.testing.assert_allclose([found[f"accuracy[{at}]"] for at in range(3)], fitted, atol=0.03)
