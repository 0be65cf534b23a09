"""The search finds what is false, does not find what is true, and says so when neither can be said."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from layers import examples

from d3stats.theory import (
    Assumption,
    Broken,
    Claim,
    NotRefuted,
    Source,
    Unsound,
    check,
    claim,
    claims,
    find_counterexample,
    survive,
    verify,
)
from d3stats.theory.check import first_failure, seeded_draws


def made_up(**changes: Any) -> Claim:
    """A number from 0 to 1000 is at most 50: false from 51 on."""
    fields: dict[str, Any] = {
        "name": "at-most-fifty",
        "title": "Numbers are small",
        "source": Source("made up", "here"),
        "statement": "x <= 50",
        "latex": r"x \le 50",
        "assumptions": (Assumption("x >= 0", lambda x: x >= 0),),
        "status": "refuted",
        "quantities": lambda x: {"x": float(x)},
        "margin": lambda x: 50.0 - x,
        "instances": lambda: st.integers(0, 1000),
        "counterexample": 51,
    }
    return Claim(**{**fields, **changes})


def small(**changes: Any) -> Claim:
    """Hold it to numbers up to 50 only: true."""
    return made_up(**{"instances": lambda: st.integers(0, 50), **changes})


def test_a_false_claim_is_refuted_and_the_counterexample_is_the_smallest() -> None:
    found = find_counterexample(made_up())
    assert (found.instance, found.margin, found.quantities) == (51, -1.0, {"x": 51.0})
    assert 1 <= found.n_examined <= 20
    assert found.n_shrunk > 0


def test_the_search_does_not_look_at_the_named_counterexample() -> None:
    assert find_counterexample(made_up(counterexample=1000)) == find_counterexample(made_up())


def test_a_true_claim_that_is_marked_refuted_is_not_refuted() -> None:
    with pytest.raises(
        NotRefuted, match=r"at-most-fifty must fail somewhere .* got no failure in 51 examples"
    ):
        find_counterexample(small())


def test_equality_is_no_refutation_and_neither_is_rounding() -> None:
    fifty = small(instances=lambda: st.just(50))
    with pytest.raises(NotRefuted):
        find_counterexample(fifty)
    with pytest.raises(NotRefuted):
        find_counterexample(small(margin=lambda x: -1e-9))  # the slack itself
    assert find_counterexample(small(margin=lambda x: -1e-8)).instance == 0


def test_a_claim_that_is_marked_true_and_is_false_breaks_on_the_smallest_instance() -> None:
    false = made_up(status="holds", counterexample=None)
    with pytest.raises(Broken, match="got margin -1 on 51") as broken:
        survive(false, 300)
    assert (broken.value.instance, broken.value.margin) == (51, -1.0)


def test_a_survivor_tells_how_close_it_came_and_where() -> None:
    found = survive(small(status="holds", counterexample=None), 300)
    assert (found.n, found.n_distinct, found.exhausted) == (51, 51, True)
    assert (found.least_margin, found.where) == (0.0, 50)


def test_a_large_space_gives_exactly_as_many_examples_as_were_asked_for() -> None:
    wide = made_up(status="holds", counterexample=None, margin=float, instances=lambda: st.integers(0, 2**40))
    found = survive(wide, 300)
    assert (found.n, found.exhausted) == (300, False)
    assert found.n_distinct > 290


def test_a_claim_that_lacks_an_assumption_survives_once_it_is_made() -> None:
    lacking = made_up(
        status="holds under",
        missing=(Assumption("x <= 50", lambda x: x <= 50),),
        rescued=lambda: st.integers(0, 50),
    )
    assert survive(lacking, 300).corrected
    with pytest.raises(Broken):
        survive(lacking, 300, corrected=False)
    assert (
        verify([lacking]).verdicts[0].verdict
        == "refuted by search; survived 51, all there are with what is missing"
    )
    with pytest.raises(Unsound, match="instances of at-most-fifty must satisfy 'x <= 50'; got 51"):
        survive(made_up(status="holds under", missing=lacking.missing, rescued=lambda: st.integers(0, 60)))
    with pytest.raises(ValueError, match="corrected must be False for a claim without a missing assumption"):
        survive(made_up(), 300, corrected=True)


@pytest.mark.parametrize("run", [find_counterexample, survive])
def test_an_instance_outside_the_assumptions_is_an_error_and_no_evidence(run: Any) -> None:
    outside = made_up(instances=lambda: st.integers(-5, 1000))
    with pytest.raises(Unsound, match="instances of at-most-fifty must satisfy 'x >= 0'; got -1"):
        run(outside)


@pytest.mark.parametrize("run", [find_counterexample, survive])
def test_a_margin_that_is_not_a_number_is_an_error_and_no_evidence(run: Any) -> None:
    with pytest.raises(Unsound, match="margin of at-most-fifty must be a number; got nan on 0"):
        run(made_up(margin=lambda x: math.nan))


@pytest.mark.parametrize("run", [find_counterexample, lambda claim: survive(claim, 5)])
def test_a_claim_that_raises_names_the_instance_on_which_it_does(run: Any) -> None:
    def overflows(x: int) -> float:
        raise OverflowError("math range error")

    with pytest.raises(Unsound, match=r"margin of at-most-fifty .*OverflowError: math range error, on \d+"):
        run(made_up(margin=overflows))


@pytest.mark.parametrize("number", [0, -1, 2.5])
def test_a_number_of_examples_is_a_whole_number_from_one_on(number: Any) -> None:
    for run in (
        lambda: find_counterexample(made_up(), max_examples=number),
        lambda: survive(made_up(), number),
        lambda: verify([], n_examples=number),
    ):
        with pytest.raises(ValueError, match=f"got (max_examples|n_examples)={number}"):
            run()


def test_the_same_seed_gives_the_same_instances_and_another_seed_others() -> None:
    wide = made_up(
        status="holds", counterexample=None, margin=lambda x: x + 1.0, instances=lambda: st.integers(0, 2**40)
    )
    assert survive(wide, 60, rng=1) == survive(wide, 60, rng=1)
    drawn: dict[int, set[int]] = {1: set(), 2: set()}
    for seed, seen in drawn.items():
        noting = made_up(
            status="holds",
            counterexample=None,
            margin=lambda x, seen=seen: float(seen.add(x) or 0),
            instances=lambda: st.integers(0, 2**40),
        )
        survive(noting, 60, rng=seed)
    assert len(drawn[1] & drawn[2]) < 20


@examples(5, 1, "step")
def test_constants_of_loaded_modules_change_no_instance_of_a_claim(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hypothesis draws constants from the source of local modules: another process has loaded others.

    The fast layer tries every fifth family of instances.
    """
    wide = st.integers(0, 2**40)
    made = {
        make for entry in claims().values() for make in (entry.instances, entry.rescued) if make is not None
    }
    strategies = [make() for make in sorted(made, key=lambda make: make.__qualname__)[::step]]

    def drawn(strategy: st.SearchStrategy[Any], n: int = 5) -> list[str]:
        seen: list[str] = []
        first_failure(strategy, lambda x: bool(seen.append(repr(x))), n=n, seed=3)
        return seen

    before = [drawn(strategy) for strategy in strategies]
    wide_before, seeded_before = drawn(wide, 300), list(seeded_draws(wide, n=300, seed=3))
    numbers = [*range(100, 1100, 3), *(123_456_789 + 7919 * i for i in range(200))]
    (tmp_path / "a_module_full_of_numbers.py").write_text("\n".join(f"x{x} = {x}" for x in numbers))
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("a_module_full_of_numbers")
    assert [drawn(strategy) for strategy in strategies] == before
    assert list(seeded_draws(wide, n=300, seed=3)) == seeded_before
    assert drawn(wide, 300) != wide_before  # which a strategy with wide numbers would show
    sys.modules.pop("a_module_full_of_numbers")


def test_batches_are_shared_out_without_changing_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "VARIED", 60)
    monkeypatch.setattr(check, "BATCH", 50)
    told: list[tuple[int, int]] = []
    true = claim("sign-agreement-beats-three")
    alone = survive(true, 150, rng=4, progress=lambda done, asked: told.append((done, asked)))
    assert told == [(60, 150), (110, 150), (150, 150)]
    assert alone.n == 150
    assert (
        alone.n_distinct > 1.3 * survive(true, 60, rng=4).n_distinct
    )  # a batch does not repeat the last one
    assert survive(true, 150, rng=4, workers=2) == alone


def test_a_rare_failure_beyond_the_first_thousand_is_found_by_seeded_draws() -> None:
    tried = 0

    def margin(x: int) -> float:
        nonlocal tried
        tried += 1
        return 0.0 if x % 1999 else -1.0

    rare = small(
        name="no-multiple-of-1999",
        instances=lambda: st.integers(1, 10**6),
        margin=margin,
        status="holds",
        counterexample=None,
    )
    with pytest.raises(Broken) as broken:
        survive(rare, 20_000, rng=2)
    assert broken.value.instance % 1999 == 0
    assert tried > 1000


def test_seeded_draws_are_those_of_their_seed_and_refuse_to_discard() -> None:
    draws = [list(seeded_draws(st.integers(0, 10**9), n=50, seed=seed)) for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    assert len(set(draws[0])) > 40
    with pytest.raises(RuntimeError, match="discard nothing"):
        list(seeded_draws(st.integers(0, 9).filter(lambda x: x > 20), n=5, seed=1))


def test_an_audit_is_the_same_for_any_number_of_workers() -> None:
    names = ["sign-agreement-beats-three", "sign-agreement"]
    told: list[tuple[int, int, str]] = []
    alone = verify(names, n_examples=40, progress=lambda *news: told.append(news))
    assert told == [(1, 2, names[0]), (2, 2, names[1])]
    assert alone == verify(names, n_examples=40, workers=2)
    assert [v.claim for v in alone.verdicts] == names
    assert alone.agrees


def test_an_audit_says_which_claims_are_not_as_stated() -> None:
    wrongly_true = made_up(name="wrongly-true", status="holds", counterexample=None)
    wrongly_false = small(name="wrongly-false", counterexample=51)
    badly_named = made_up(name="badly-named", counterexample=3)
    audit = verify([wrongly_true, wrongly_false, badly_named, made_up()])
    assert [v.agrees for v in audit.verdicts] == [False, False, False, True]
    assert not audit.agrees
    lines = audit.summary().splitlines()
    assert lines[0].startswith(
        "1 of 4 claims are as stated (1 holds, 3 refuted); 300 examples each, seed 0, "
    )
    assert [line.partition(", but ")[0] for line in lines[1:]] == [
        "wrongly-true: stated 'holds'",
        "wrongly-false: stated 'refuted'",
        "badly-named: stated 'refuted'",
    ]
    assert lines[1].endswith("wrongly-true must hold on every instance; got margin -1 on 51")
    assert lines[2].endswith("wrongly-false must fail somewhere to be refuted; got no failure in 51 examples")
    assert lines[3].endswith("counterexample of badly-named must be admitted and fail; got 3")


def test_a_named_counterexample_of_a_rescued_claim_must_lack_what_is_missing() -> None:
    odd = made_up(
        status="holds under",
        missing=(Assumption("x >= 0, once more", lambda x: x >= 0),),
        rescued=lambda: st.integers(0, 50),
    )
    found = verify([odd]).verdicts[0]
    assert not found.agrees
    assert "must lack what is missing; got 51" in found.verdict


def test_an_audit_comes_as_a_table_as_json_and_as_latex() -> None:
    audit = verify([made_up(), small(name="small", status="holds", counterexample=None)])
    frame = audit.to_frame().set_index("claim")
    assert frame.loc["at-most-fifty", "found"] == "51"
    assert frame.loc["small", "n_survived"] == 51
    rows = audit.to_dict()["claims"]
    assert rows[0]["named_margin"] == -1.0
    assert rows[1]["found_margin"] is None
    assert r"at-most-fifty & refuted & refuted by search & 51 \\" in audit.to_latex()
    assert audit.to_json().count('"claim"') == 2


def test_a_claim_may_be_given_by_its_name_however_it_is_written() -> None:
    for name in ("sign-agreement", "Sign Agreement", "SIGN_AGREEMENT"):
        assert claim(name) is claim("sign-agreement")
    assert survive("sign-agreement", 20) == survive(claim("sign-agreement"), 20)
    assert find_counterexample("ks-stability-means-stable").margin < 0
    audit = verify("sign-agreement", n_examples=20, rng=np.int64(7))
    assert (len(audit.verdicts), audit.seed) == (1, 7)


@pytest.mark.parametrize("wrong", [None, 3, ("sign-agreement",)])
def test_what_is_no_claim_is_refused_in_words(wrong: Any) -> None:
    with pytest.raises(TypeError, match="name must be a claim's name; got"):
        survive(wrong, 5)
