"""Online and vectorised are one rule; the future and the unseen do not matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from layers import examples
from stopping_strategies import BATCH_RULES, RULES, any_rules, debate_rules, drawn_rules, logs

from d3stats.stopping import (
    After,
    BatchRule,
    Both,
    Either,
    MixedRule,
    Rule,
    StoppingRule,
    Unanimity,
    batch_rounds,
    from_text,
    rounds_of,
)
from d3stats.stopping.rule import BatchAfter, BatchBoth, BatchEither
from d3stats.stopping.text import rule_names
from d3stats.trajectories import MISSING, Trajectories


def online(rule: StoppingRule, t: Trajectories) -> tuple[list[int], list[str]]:
    """Play a log online, debate by debate or round by round, as a running system would."""
    if isinstance(rule, Rule):
        played = [rule.run(rounds_of(t, i)) for i in range(t.n_debates)]
        return [r for r, _ in played], [reason for _, reason in played]
    rounds, reasons = t.depth.tolist(), ["exhausted"] * t.n_debates
    running = np.ones(t.n_debates, dtype=bool)
    state = rule.start()
    for latest in batch_rounds(t):
        # A stopped debate says nothing more.
        silent = ~(latest.played & running)
        votes = np.where(silent[:, None], MISSING, latest.votes)
        decided = state.update(replace(latest, votes=votes, played=~silent))
        if isinstance(rule, BatchRule):
            stopping = np.full(t.n_debates, decided.stop) & ~silent
            why = np.full(t.n_debates, decided.reason or "")
        else:
            stopping, why = decided.stop, decided.reasons
        for i in np.flatnonzero(stopping).tolist():
            rounds[i], reasons[i] = latest.number, str(why[i])
        running &= ~stopping
        if isinstance(rule, BatchRule) and decided.stop:
            break
    return rounds, reasons


@given(debate_rules, logs())
def test_a_per_debate_rule_stops_online_where_it_stops_vectorised(rule: Rule, t: Trajectories) -> None:
    stops = rule.stop_rounds(t)
    assert (stops.rounds.tolist(), stops.reasons.tolist()) == online(rule, t)


@given(drawn_rules, logs())
def test_a_rule_with_any_parameters_stops_online_where_it_stops_vectorised(
    rule: Rule, t: Trajectories
) -> None:
    assert from_text(str(rule)) == rule
    try:
        stops = rule.stop_rounds(t)
    except ValueError:
        reject()
    assert (stops.rounds.tolist(), stops.reasons.tolist()) == online(rule, t)


@given(any_rules, logs())
def test_a_rule_with_a_batch_in_it_stops_online_where_it_stops_vectorised(
    rule: StoppingRule, t: Trajectories
) -> None:
    stops = rule.stop_rounds(t)
    assert (stops.rounds.tolist(), stops.reasons.tolist()) == online(rule, t)


@pytest.mark.parametrize("rule", RULES + BATCH_RULES, ids=str)
@examples(4, 60)
def test_every_single_rule_stops_online_where_it_stops_vectorised(
    rule: StoppingRule, n_examples: int
) -> None:
    @settings(max_examples=n_examples)
    @given(logs())
    def holds(t: Trajectories) -> None:
        stops = rule.stop_rounds(t)
        assert (stops.rounds.tolist(), stops.reasons.tolist()) == online(rule, t)

    holds()


def test_every_rule_that_can_be_written_is_held_to_the_two_faces() -> None:
    held = {type(rule).name for rule in RULES + BATCH_RULES}
    presets = {"hu2025", "d3_paper", "d3_code"}
    assert set(rule_names()) - presets == held
    assert presets == {preset for make in rule_names().values() for preset in getattr(make, "presets", ())}


@given(any_rules, logs())
def test_no_debate_plays_more_rounds_than_its_log_has(rule: StoppingRule, t: Trajectories) -> None:
    stops = rule.stop_rounds(t)
    assert (stops.rounds <= t.depth).all()
    assert (stops.rounds >= np.minimum(t.depth, 1)).all()
    assert (stops.rounds[stops.reasons == "exhausted"] == t.depth[stops.reasons == "exhausted"]).all()


@given(any_rules, logs(), st.integers(0, 2**32 - 1))
def test_what_is_said_after_a_stop_never_moves_it(rule: StoppingRule, t: Trajectories, seed: int) -> None:
    stops = rule.stop_rounds(t)
    later = np.arange(t.n_rounds)[None, :] >= stops.rounds[:, None]
    noise = np.random.default_rng(seed).integers(0, len(t.answers), size=t.votes.shape)
    changed = np.where(later[:, :, None] & (t.votes != MISSING), noise, t.votes).astype(np.int32)
    again = rule.stop_rounds(replace(t, votes=changed))
    assert again.rounds.tolist() == stops.rounds.tolist()
    assert again.reasons.tolist() == stops.reasons.tolist()


@given(debate_rules, logs(), st.integers(0, 2**32 - 1))
def test_a_per_debate_rule_does_not_see_labels_or_other_debates(
    rule: Rule, t: Trajectories, seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(t.n_debates)
    blind = replace(t, label=np.full(t.n_debates, MISSING, dtype=np.int32))
    expected = rule.stop_rounds(t).rounds[order].tolist()
    assert rule.stop_rounds(blind.select(order)).rounds.tolist() == expected


@given(any_rules, logs())
def test_a_batch_rule_gives_one_round_to_all_debates_that_reach_it(
    rule: StoppingRule, t: Trajectories
) -> None:
    if isinstance(rule, BatchRule):
        stopped = rule.stop_rounds(t)
        fired = stopped.rounds[stopped.reasons != "exhausted"]
        assert len(set(fired.tolist())) <= 1


def batch_twin(rule: StoppingRule) -> StoppingRule:
    """The same combination, written with the batch combinators."""
    if isinstance(rule, Either):
        return BatchEither(batch_twin(rule.left), batch_twin(rule.right))
    if isinstance(rule, Both):
        return BatchBoth(batch_twin(rule.left), batch_twin(rule.right))
    if isinstance(rule, After):
        return BatchAfter(batch_twin(rule.inner), rule.rounds)
    return rule


@given(debate_rules, logs())
def test_the_batch_combinators_mean_the_same_as_the_per_debate_ones(rule: Rule, t: Trajectories) -> None:
    expected, stops = rule.stop_rounds(t), batch_twin(rule).stop_rounds(t)
    assert stops.rounds.tolist() == expected.rounds.tolist()
    assert stops.reasons.tolist() == expected.reasons.tolist()


def test_combining_with_a_batch_rule_says_so_in_the_type() -> None:
    assert isinstance(Unanimity() | Unanimity(missing="block"), Rule)
    for rule in (Unanimity() | BATCH_RULES[0], BATCH_RULES[0] & Unanimity(), BATCH_RULES[0].after(2)):
        assert isinstance(rule, MixedRule)
        assert not isinstance(rule, Rule)
