"""A ledger's campaigns over logs: the same as a plain one debate at a time, what is refused, and what is said."""

from __future__ import annotations

import numpy as np
import pytest
from pace import idle_seconds

from d3stats.planning.campaigns import BLOCK, LadderController, Logged, horizon, played_campaign
from d3stats.planning.ledger import Campaign, Ledger
from d3stats.stopping import Either
from d3stats.trajectories import Trajectories
from d3stats.worlds import Conformity, simulate_debates

SECRET = bytes(range(32))


def log(n: int = 260, seed: int = 4) -> Trajectories:
    return simulate_debates(Conformity(panel=5), n, 6, rng=seed)


def plainly(ledger: Ledger, debates: Trajectories, secret: bytes) -> tuple[list[int], list[str]]:
    """Play a campaign with rules that run debate by debate, each choice of the controller made anew."""
    logged = Logged.of(ledger, debates)
    campaign = Campaign(ledger, secret)
    chooser = LadderController(ledger, logged.panel, debates.n_rounds)
    ends = ledger.rule.stop_rounds(debates).rounds
    known: list[tuple[int, float]] = []
    stages: list[int] = []
    stops: list[int] = []
    did: list[str] = []
    rule, before = None, 0
    for d in range(ledger.n):
        used = horizon(ledger, d + 1)
        stages.append(campaign.stage)
        if used != before:
            before = used
            past = [logged.known(row, weight) for row, weight in known if row < used]
            if campaign._design is None:
                campaign.design(*chooser.design(past, ledger.n - used))
                chooser.start(campaign.audit_design, ledger.n)
            rule = chooser.choose(past, stages[used], ledger.n - d)
        one = debates.select([d])
        stop = int(ends[d] if rule is None else Either(ledger.rule, rule).stop_rounds(one).rounds[0])
        verdicts = one.verdicts()[0]
        weight = 1.0 if stop >= ends[d] else 1.0 / campaign.share
        what = campaign.decide(stop < ends[d])
        if what == "audit":
            campaign.audited(ledger.loss(verdicts[stop - 1], verdicts[ends[d] - 1]))
        did.append(what)
        stops.append(stop if what == "honour" else int(ends[d]))
        if what != "honour":
            known.append((d, weight))
    return stops, did


@pytest.mark.parametrize("eps", [0.1])
def test_a_campaign_over_a_log_is_that_of_its_rules_debate_by_debate(eps: float) -> None:
    ledger, debates = Ledger(n=260, eps=eps, warm_up=20, lag=60), log()
    played = played_campaign(ledger, Logged.of(ledger, debates), np.arange(260), SECRET)
    stops, did = plainly(ledger, debates, SECRET)
    assert played.did.tolist() == did
    assert played.stops.tolist() == stops
    assert {"deliver", "honour", "audit"} == set(did)


def test_the_early_rule_uses_no_audit_within_the_lag() -> None:
    ledger = Ledger(n=2000, eps=0.01, warm_up=50, lag=100)
    used = [horizon(ledger, serial) for serial in range(1, 2001)]
    assert used[:50] == [0] * 50
    for serial, cut in enumerate(used[50:], start=51):
        assert cut == 50 or cut <= serial - 1 - 100
        assert (cut - 50) % BLOCK == 0
    assert used == sorted(used)


def test_the_same_seed_gives_the_same_campaigns() -> None:
    ledger = Ledger(n=200, eps=0.05)
    first, again, other = (ledger.replay(log(), campaigns=3, rng=seed).to_frame() for seed in (5, 5, 6))
    assert first.equals(again)
    assert not first.equals(other)


def test_the_saving_counts_the_warm_up_and_the_audits() -> None:
    ledger, debates = Ledger(n=260, eps=0.1, warm_up=20, lag=60), log()
    logged = Logged.of(ledger, debates)
    played = played_campaign(ledger, logged, np.arange(260), SECRET)
    assert (played.stops[played.did != "honour"] == logged.ends[played.did != "honour"]).all()
    assert (played.stops[played.did == "honour"] < logged.ends[played.did == "honour"]).all()
    assert (played.did[:20] == "deliver").all()
    assert played.certificate.honoured == (played.did == "honour").sum()


@pytest.mark.parametrize("losses", ["gross", "net"])
def test_losses_of_labelled_debates_are_those_of_their_definition(losses: str) -> None:
    debates = log()
    ledger = Ledger(n=260, eps=0.1, losses=losses, warm_up=20, lag=60)  # type: ignore[arg-type]
    played = played_campaign(ledger, Logged.of(ledger, debates), np.arange(260), SECRET)
    rows, ends = np.arange(260), ledger.rule.stop_rounds(debates).rounds
    right = debates.verdicts() == debates.label[:, None]
    change = right[rows, ends - 1].astype(int) - right[rows, played.stops - 1]
    assert played.loss.tolist() == (np.maximum(change, 0) if losses == "gross" else change).tolist()


def test_what_a_ledger_cannot_replay_is_refused() -> None:
    ledger = Ledger(n=40, eps=0.1)
    with pytest.raises(ValueError, match="campaigns must be >= 1"):
        ledger.replay(log(60), campaigns=0)
    unlabelled = Trajectories.from_arrays(log(60).votes, answers=["A", "B"])
    with pytest.raises(
        ValueError, match="log must have the label of every debate for losses='net'; got 60 of 60"
    ):
        Ledger(n=40, eps=0.1, losses="net").replay(unlabelled)
    votes = np.zeros((4, 3, 3), dtype=int)
    votes[:, :, 0] = 1
    votes[0, 2] = -1
    cut = Trajectories.from_arrays(
        votes, answers=["A", "B"], depth=[2, 3, 3, 3], stopped_by_rule=[True, False, False, False]
    )
    with pytest.raises(ValueError, match="played until unanimity stops; got 1 debate of 4 that ended before"):
        Ledger(n=4, eps=0.5, warm_up=1).replay(cut)


def test_debates_without_tokens_are_priced_in_rounds_and_that_is_said() -> None:
    debates = Trajectories.from_arrays(log(60).votes, answers=["A", "B"])
    found = Ledger(n=40, eps=0.1).replay(debates, campaigns=2, rng=1)
    assert "of the rounds of unanimity" in found.headline
    few = Ledger(n=80, eps=0.02).replay(debates, campaigns=2, rng=1)
    assert any("drawn with replacement for campaigns of 80" in note for note in few.notes)
    assert any("1 lost verdict allowed" in note for note in few.notes)


@pytest.mark.slow
def test_a_campaign_of_ten_thousand_debates_takes_less_than_five_seconds() -> None:
    debates = simulate_debates(Conformity(panel=7), 4000, 8, rng=2)
    rows = np.random.default_rng(3).integers(4000, size=10_000)
    ledger = Ledger(n=10_000, eps=0.01)
    logged = Logged.of(ledger, debates)
    small = Ledger(n=60, eps=0.1)
    played_campaign(small, Logged.of(small, debates), np.arange(60), SECRET)  # compiles what is compiled
    assert idle_seconds(lambda: played_campaign(ledger, logged, rows, SECRET), tries=1) < 5


def test_the_early_rule_learns_from_each_debate_where_they_are_played_one_at_a_time() -> None:
    ledger = Ledger(n=500, eps=0.01)
    assert ledger.lag == 1
    # Chosen again every 25 debates, from all debates before.
    assert [horizon(ledger, serial) for serial in (20, 21, 46, 47, 72, 497)] == [0, 20, 20, 45, 70, 495]
