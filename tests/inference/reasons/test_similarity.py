"""The mean cosine within debates and across questions: against all pairs, closed forms, and the paper's numbers."""

from __future__ import annotations

import sys
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_rationales import COMMON, JURORS, LENGTH, SHARED, true_cosines, worded_log
from scipy import sparse

from d3stats.inference import ItemMismatch, compare_rationales, rationale_texts, rationales
from d3stats.inference.reasons.rationales import ACROSS, RATIO, SIMILARITY
from d3stats.inference.reasons.similarity import across, cosines, tfidf, unit_rows
from d3stats.resampling import jackknife


def jury(n_debates: int = 20, size: int = 5) -> pd.DataFrame:
    rows = [
        (f"d{d:02d}", 1, f"juror {j}", "A", f"word{d} word{d}x{j}")
        for d in range(n_debates)
        for j in range(size)
    ]
    return pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "text"])


def apart(cosine: float, size: int) -> np.ndarray:
    """Return vectors of length 1 of which any two have this cosine."""
    gram = np.full((size, size), cosine) + (1 - cosine) * np.eye(size)
    return np.linalg.cholesky(gram)


@given(st.integers(0, 10_000))
def test_sums_give_what_all_pairs_give(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 25))
    question = np.sort(rng.integers(0, 4, n))
    debate = question * 3 + rng.integers(0, 3, n)
    question, debate = (np.unique(codes, return_inverse=True)[1] for codes in (question, debate))
    vectors = rng.normal(size=(n, 4)) * (rng.random((n, 1)) > 0.1)
    rows, there = unit_rows(vectors, n)
    assert there.tolist() == vectors.any(axis=1).tolist()
    found, thin = (
        cosines(rows, there, debate, question),
        cosines(sparse.csr_array(rows), there, debate, question),
    )
    pairs = [(i, j) for i, j in combinations(np.flatnonzero(there), 2)]
    cosine = rows @ rows.T
    inside = [cosine[i, j] for i, j in pairs if debate[i] == debate[j]]
    outside = [(i, j) for i, j in pairs if question[i] != question[j]]
    for each in (found, thin):
        assert each.within.sum(axis=0) == pytest.approx([sum(inside), len(inside)])
        whole = across(each.questions)(each.questions.sum(axis=0)[None])[0, 0]
        assert whole == pytest.approx(
            np.mean([cosine[p] for p in outside]) if outside else np.nan, nan_ok=True
        )
        for i in np.flatnonzero(there):
            others = [cosine[i, j] for j in np.flatnonzero(there) if j != i and debate[j] == debate[i]]
            assert each.with_others[i] == pytest.approx(np.mean(others) if others else np.nan, nan_ok=True)
    if len(np.unique(question)) > 2:
        without = jackknife(found.questions, across(found.questions))[:, 0]
        for q in range(question.max() + 1):
            left = [cosine[i, j] for i, j in outside if q not in (question[i], question[j])]
            assert without[q] == pytest.approx(np.mean(left) if left else np.nan, nan_ok=True)


def test_the_papers_ratio_is_one_of_similarities() -> None:
    """D3, section 5.8: 0.31 with personas, 0.67 of generic jurors, called 2.2 times."""
    table = jury()
    arrays = tuple(np.tile(apart(cosine, 5), (20, 1)) for cosine in (0.31, 0.67))
    found = compare_rationales(table, table, embed=arrays, names=("personas", "generic"), repeated_words=None)
    assert (found.first[SIMILARITY].value, found.second[SIMILARITY].value) == pytest.approx((0.31, 0.67))
    by_name = {e.name: e.value for e in found.differences}
    assert by_name[f"{SIMILARITY}, generic - personas"] == pytest.approx(0.36)
    assert round(by_name[f"{SIMILARITY}, generic / personas"], 1) == 2.2
    assert round((1 - 0.31) / (1 - 0.67), 1) == 2.1  # what the ratio of distances would be


def test_tfidf_of_texts_with_known_overlap_has_the_cosine_of_the_closed_form() -> None:
    """All debates share as many words: every pair of a debate has one cosine, every pair across has another."""
    for shared in SHARED:
        rng = np.random.default_rng(shared)
        table = worded_log(rng, 30)
        same = table["text"].str.count("shared") == shared
        table = table[same.to_numpy()]
        within, outside = true_cosines(len(table), (shared,))
        found = rationales(table, repeated_words=None)
        assert found[SIMILARITY].value == pytest.approx(within)
        assert found[ACROSS].value == pytest.approx(outside)
        assert found[RATIO].value == pytest.approx(within / outside)
        assert found.marks["cosine"].to_numpy() == pytest.approx(within)


def test_overlap_that_varies_by_question_is_recovered() -> None:
    table = worded_log(np.random.default_rng(5), 150)
    found = rationales(table, repeated_words=None)
    within, outside = true_cosines(len(table))
    assert abs(found[SIMILARITY].value - within) < 4 * found[SIMILARITY].se
    assert abs(found[ACROSS].value - outside) < 4 * found[ACROSS].se
    assert found[SIMILARITY].n == 300 * JURORS * (JURORS - 1) // 2
    assert found[SIMILARITY].n_clusters == 150


def test_tfidf_is_scikit_learns_with_its_usual_settings() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = worded_log(np.random.default_rng(1), 5)["text"].tolist()
    assert abs(tfidf(texts) - TfidfVectorizer().fit_transform(texts)).max() < 1e-12
    by_hand = 1 + np.log((1 + len(texts)) / (1 + 1))
    row = tfidf(texts)[[0]].toarray().ravel()
    shared = texts[0].count("shared")
    of_debate = 1 + np.log((1 + len(texts)) / (1 + JURORS))
    length = np.sqrt(COMMON + shared * of_debate**2 + (LENGTH - shared) * by_hand**2)
    assert np.count_nonzero(np.isclose(row, by_hand / length)) == LENGTH - shared


def test_a_callable_gets_the_texts_in_the_order_in_which_they_are_listed() -> None:
    table = jury().sample(frac=1, random_state=1)
    seen: list[str] = []

    def embed(texts: list[str]) -> np.ndarray:
        seen.extend(texts)
        return np.tile(apart(0.4, 5), (20, 1))

    found = rationales(table, embed=embed, repeated_words=None)
    listed = rationale_texts(table)
    assert listed["text"].tolist() == seen == found.marks["text"].tolist()
    assert found[SIMILARITY].value == pytest.approx(0.4)
    again = rationales(table, embed=np.tile(apart(0.4, 5), (20, 1)), repeated_words=None)
    assert again[SIMILARITY].value == found[SIMILARITY].value


def test_a_vector_of_zeros_has_no_direction() -> None:
    vectors = np.tile(apart(0.4, 5), (20, 1))
    vectors[7] = 0.0
    found = rationales(jury(), embed=vectors, repeated_words=None)
    assert found[SIMILARITY].n == 20 * 10 - 4
    assert np.isnan(found.marks["cosine"][7])
    assert "similarity: 1 rationale of 100 has a vector of zeros and was left out" in found.notes


@pytest.mark.parametrize(
    ("embed", "error", "message"),
    [
        (
            np.ones((99, 3)),
            ValueError,
            r"one vector per rationale, shape \(100, length\); got shape \(99, 3\)",
        ),
        (np.ones(100), ValueError, r"got shape \(100,\)"),
        (np.ones((100, 0)), ValueError, r"got shape \(100, 0\)"),
        (
            np.full((100, 2), np.nan),
            ValueError,
            r"finite numbers; got others for rationale 1 \(counted from 1\)",
        ),
        (np.full((100, 2), "a"), TypeError, "must give numbers"),
        (lambda texts: None, ValueError, "one vector per rationale"),
    ],
)
def test_vectors_that_cannot_be_are_refused(embed, error, message) -> None:
    with pytest.raises(error, match=message):
        rationales(jury(), embed=embed)


def test_two_logs_take_two_arrays_of_one_length() -> None:
    with pytest.raises(ValueError, match="a callable or two arrays"):
        compare_rationales(jury(), jury(), embed=np.ones((100, 2)))
    with pytest.raises(ValueError, match=r"vectors of one length; got lengths \[2, 3\]"):
        compare_rationales(jury(), jury(), embed=(np.ones((100, 2)), np.ones((100, 3))))


def test_without_scikit_learn_only_similarity_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    found = rationales(jury())
    assert found.find(SIMILARITY) is None
    assert found.find("rationales that cite the debate") is not None
    assert any('pip install "d3stats[text]"' in note for note in found.notes)
    assert rationales(jury(), embed=np.tile(apart(0.4, 5), (20, 1))).find(SIMILARITY) is not None


def test_a_negative_mean_has_no_ratio() -> None:
    vectors = np.tile([[1.0, 0.0], [-1.0, 0.0]], (10, 1))
    found = rationales(jury(10, 2), embed=vectors, repeated_words=None)
    assert found[SIMILARITY].value == pytest.approx(-1.0)
    assert found.find(RATIO) is None
    assert any("no ratio to a mean cosine" in note for note in found.notes)


def test_logs_over_the_same_questions_are_paired_and_others_are_not() -> None:
    """Paired by question, what both logs have in common takes no part in the error of their difference."""
    one = worded_log(np.random.default_rng(1), 60)
    found = compare_rationales(one, one.assign(debate=one["debate"] + "again"), repeated_words=None)
    assert "paired by question: 60 are in both logs" in found.notes
    same = next(e for e in found.differences if e.name.startswith(SIMILARITY))
    assert same.value == pytest.approx(0)
    assert same.low is None  # no difference in any question
    other = worded_log(np.random.default_rng(2), 60).assign(question=lambda t: "other " + t["question"])
    free = compare_rationales(one, other, repeated_words=None)
    assert "no question is in both logs, so the logs are compared as independent" in free.notes
    alone = [log[SIMILARITY].se for log in (free.first, free.second)]
    apart_ = next(e for e in free.differences if e.name.startswith(SIMILARITY))
    assert apart_.se == pytest.approx(np.hypot(*alone), rel=0.02)


def test_logs_that_share_few_questions_are_no_pair() -> None:
    one = worded_log(np.random.default_rng(1), 12)
    other = one.assign(question=[q if q > "q0007" else "x" + q for q in one["question"]])
    with pytest.raises(ItemMismatch, match="got 4 of 12"):
        compare_rationales(one, other, repeated_words=None)


def test_questions_of_one_log_only_are_left_out_and_counted() -> None:
    one = worded_log(np.random.default_rng(1), 12)
    found = compare_rationales(
        one, one[one["question"] > "q0003"], names=("all", "some"), repeated_words=None
    )
    left = "4 of all ('q0000', 'q0001', 'q0002', 'q0003')"
    assert f"WARNING: paired by question: 8 are in both logs; left out are {left}" in found.notes
    assert set(found.first.marks["question"]) == set(found.second.marks["question"])
    assert found.first[SIMILARITY].value == pytest.approx(found.second[SIMILARITY].value)
