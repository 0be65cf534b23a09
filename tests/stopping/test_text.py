"""Rules as text: what is written can be read back, and what cannot be read is explained."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stopping_strategies import any_rules

from d3stats.stopping import (
    FixedRounds,
    FullDepth,
    KSStability,
    NoiseAwareKS,
    StoppingRule,
    Unanimity,
    from_text,
)


@given(any_rules)
def test_the_text_of_a_rule_reads_back_as_the_rule(rule: StoppingRule) -> None:
    assert from_text(str(rule)) == rule


@given(st.floats(0, 1), st.integers(1, 9))
def test_numbers_survive_the_text(threshold: float, patience: int) -> None:
    rule = KSStability(threshold, patience)
    assert from_text(str(rule)) == rule


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("fixed:2", FixedRounds(2)),
        (" fixed:n=2 ", FixedRounds(2)),
        ("full", FullDepth()),
        ("unanimity", Unanimity()),
        ("unanimity:missing=block", Unanimity(missing="block")),
        ("ks:0.05,patience=2", KSStability(0.05, 2)),
        ("ks:.1, 3, window=2", KSStability(0.1, 3, window=2)),
        ("ks:.1,carry=unanimity", KSStability(0.1, carry=Unanimity())),
        ("hu2025", KSStability.hu2025()),
        ("hu2025:.01,3", KSStability.hu2025(0.01, 3)),
        ("ks_bound:0.1,level=.9", NoiseAwareKS(0.1, 0.9)),
        ("unanimity|ks:.05", Unanimity() | KSStability(0.05)),
        ("unanimity | fixed:2 & full", Unanimity() | (FixedRounds(2) & FullDepth())),
        ("(unanimity | fixed:2) & full", (Unanimity() | FixedRounds(2)) & FullDepth()),
        ("ks:0.05.after(3)", KSStability(0.05).after(3)),
        ("(unanimity|ks).after(2)", (Unanimity() | KSStability()).after(2)),
    ],
)
def test_texts_mean_what_they_say(text: str, rule: StoppingRule) -> None:
    assert from_text(text) == rule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"name of a rule at position 0 of ''; got the end"),
        ("court", r"rule must be one of adaptive_consistency, .*wide_gap; got 'court'"),
        (
            "sprout",
            r"rule must be one of the names that `d3stats rules` lists; got 'sprout'.*did you mean 'sprt'\?",
        ),
        ("fixed", r"fixed must be given n; got 'fixed'"),
        ("fixed:", r"an argument of fixed at position 6"),
        ("fixed:0", r"n must be >= 1; got n=0 \(in the rule 'fixed:0'\)"),
        ("fixed:two", r"n must be an integer; got n='two'"),
        ("fixed:2 3", r"the end at position 8 of 'fixed:2 3'; got '3'"),
        ("fixed:2|", r"the name of a rule at position 8"),
        ("(fixed:2", r"'\)' at position 8"),
        ("ks:.05,speed=2", r"argument of ks must be one of threshold, .*; got 'speed'"),
        ("ks:.05,threshold=.1", r"threshold of ks must be given once"),
        ("ks:threshold=.1,2", r"key=value"),
        ("ks:1.5,scale=cubic", r"scale must be one of"),
        ("ks:.05,carry=ks", r"carry must be a per-debate Rule or None"),
        ("ks:scale=latent", r"scale must be 'pmf' with source='empirical'"),
        ("unanimity.after(0)", r"rounds must be >= 1"),
        ("ks:__import__", r"threshold must be a number"),
    ],
)
def test_what_cannot_be_read_is_explained(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_text(text)


@given(st.text(alphabet="fixed:2unaty|&().,=ks ", max_size=30))
def test_any_text_is_a_rule_or_a_value_error(text: str) -> None:
    try:
        rule = from_text(text)
    except ValueError:
        return
    assert from_text(str(rule)) == rule
