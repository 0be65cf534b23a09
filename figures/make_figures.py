"""Make every figure of this folder from the data that d3stats ships: `make figures`.

The same data give the same bytes, so a figure that changes in version control has changed in what it shows.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

import d3stats
from d3stats.datasets import load_slm7
from d3stats.models.drift import rounds_drift
from d3stats.plotting import (
    draw_overview,
    plot_counts_by_round,
    plot_ks_series,
    plot_stop_rounds,
    save,
    use_style,
)

HERE = Path(__file__).resolve().parent
SEED = 20251


def main() -> None:
    """Draw and save."""
    mpl.use("agg")
    debates = load_slm7()
    # Unread votes count as not correct here, as in the published counts; then every debate has seven votes.
    fit = d3stats.fit_rounds(debates.counts("wrong"))
    shares = fit.count_shares(rng=SEED)
    drift = rounds_drift(*debates.successes_trials("wrong"), debates.cluster, fit=fit, rng=SEED)
    distances = drift.ks()
    stops = d3stats.replay(
        debates, ["fixed:1", "fixed:2", "unanimity", "ks:0.05"], n_boot=2, rng=SEED
    ).stops()
    with use_style():
        save(plot_counts_by_round(shares)[0].figure, HERE / "slm7_counts_by_round")
        save(plot_ks_series(distances).figure, HERE / "slm7_ks_series")
        save(plot_stop_rounds(stops).figure, HERE / "slm7_stop_rounds")
        save(draw_overview(shares, distances, stops), HERE / "slm7_overview")
        plt.close("all")
    for made in sorted(HERE.glob("*.p[dn][fg]")):
        print(made.name)


if __name__ == "__main__":
    main()
