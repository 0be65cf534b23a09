"""Similarity of the rationales of one debate: the mean cosine of their pairs, and that of pairs across questions.

Texts become vectors of length 1: TF-IDF weights of their words (scikit-learn), or vectors that the user gives. With s
the sum of the m vectors of a debate, its pairs have the sum of cosines (s's - m) / 2, so no pair is ever formed.
The mean cosine of two rationales of different questions, for comparison, is a U-statistic of the questions' sums. Its
value without one question follows from that question's sums, which gives its jackknife.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats, Ints
from d3stats._words import missing_extra
from d3stats.resampling import Statistic

__all__ = ["Cosines", "Embed", "across", "cosines", "tfidf", "unit_rows", "vectors_of"]

Embed = Callable[[Sequence[str]], Any] | ArrayLike | str | Path
"""Texts to vectors, shape (texts, length); or these vectors themselves, or the file of numpy that holds them."""

_BLOCK = 8_192
"""Rationales whose debates' sums are in memory beside them."""


def tfidf(texts: Sequence[str]) -> Any:
    """Return the TF-IDF vectors of texts, sparse, of length 1 each, with scikit-learn's usual settings.

    Words are runs of two letters, digits or underscores or more, in lower case; none is left out. A word that occurs
    f times in a text and in d of n texts has the weight f (1 + ln((1 + n) / (1 + d))).

    Raises
    ------
    ImportError
        Without scikit-learn.
    ValueError
        When no text has a word.

    Examples
    --------
    >>> vectors = tfidf(["clear and true", "clear and short"])
    >>> vectors.shape, round(float((vectors[0] @ vectors[1].T).toarray()[0, 0]), 3)
    ((2, 4), 0.503)
    """
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as error:
        needs = "the similarity of texts needs scikit-learn (or vectors of your own, embed=...)"
        raise ImportError(missing_extra(needs, "text", error)) from error
    return TfidfVectorizer().fit_transform(list(texts))


def vectors_of(path: str | Path) -> Any:
    """Read an array that ``numpy.save`` wrote.

    Raises
    ------
    ValueError
        When the file holds something else.
    """
    try:
        found = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(
            f"embed must be an array that numpy.save wrote; got {str(path)!r} ({error})"
        ) from None
    if not isinstance(found, np.ndarray):
        raise ValueError(f"embed must be one array (.npy); got {str(path)!r}, which holds several")
    return found


def unit_rows(vectors: Any, n: int) -> tuple[Any, NDArray[np.bool_]]:
    """Return vectors of length 1, and which texts have one; a vector of zeros has no direction.

    Raises
    ------
    ValueError
        When there is not one vector per text, or one is not finite.
    TypeError
        When they are no numbers.
    """
    from scipy import sparse

    is_sparse = bool(sparse.issparse(vectors))
    try:
        rows = (sparse.csr_array(vectors) if is_sparse else np.asarray(vectors)).astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"embed must give numbers, shape (texts, length); got {type(vectors).__name__}"
        ) from None
    if rows.ndim != 2 or rows.shape[0] != n or rows.shape[1] == 0:
        raise ValueError(
            f"embed must give one vector per rationale, shape ({n}, length); got shape {rows.shape}"
        )
    with np.errstate(over="ignore"):
        length = np.sqrt(_row_products(rows, rows))
    if not np.isfinite(length).all():
        row = int(np.argmin(np.isfinite(length)))
        raise ValueError(
            f"embed must give finite numbers; got others for rationale {row + 1} (counted from 1)"
        )
    there = length > 0
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=there)
    return (sparse.diags_array(scale) @ rows if is_sparse else rows * scale[:, None]), there


@dataclass(frozen=True, eq=False)
class Cosines:
    """Sums of cosines, from which every mean comes.

    Attributes
    ----------
    with_others : ndarray of float, shape (texts,)
        Mean cosine of a rationale with the others of its debate; NaN where there are none.
    within : ndarray of float, shape (debates, 2)
        Sum of cosines of a debate's pairs, and how many pairs.
    questions : ndarray of float, shape (questions, 4)
        With t the sum of all vectors and s that of a question: t's, s's, its texts n, and n^2.
    """

    with_others: Floats
    within: Floats
    questions: Floats


def cosines(rows: Any, there: NDArray[np.bool_], debate: Ints, question: Ints) -> Cosines:
    """Return sums of cosines by debate and by question, from rows of length 1.

    Parameters
    ----------
    rows : array or sparse matrix, shape (texts, length)
    there : ndarray of bool, shape (texts,)
        Which rows count.
    debate, question : ndarray of int, shape (texts,)
        Codes 0, 1, ...; all of them occur.
    """
    of_debate, of_question = _sums(rows, debate, there), _sums(rows, question, there)
    size = np.bincount(debate[there], minlength=int(debate.max()) + 1).astype(np.float64)
    square = _row_products(of_debate, of_debate)
    blocks = [slice(low, low + _BLOCK) for low in range(0, len(debate), _BLOCK)]
    mine = np.concatenate([_row_products(rows[block], of_debate[debate[block]]) for block in blocks])
    others = size[debate] - 1
    with_others = np.full(len(debate), np.nan)
    np.divide(mine - 1, others, out=with_others, where=there & (others > 0))
    within = np.column_stack([np.where(size > 1, (square - size) / 2, 0.0), size * (size - 1) / 2])
    n = np.bincount(question[there], minlength=int(question.max()) + 1).astype(np.float64)
    whole = np.asarray(of_question.sum(axis=0), dtype=np.float64).ravel()
    towards = np.asarray(of_question @ whole, dtype=np.float64).ravel()
    return Cosines(
        with_others, within, np.column_stack([towards, _row_products(of_question, of_question), n, n**2])
    )


def _sums(rows: Any, codes: Ints, there: NDArray[np.bool_]) -> Any:
    """Add up rows by code."""
    from scipy import sparse

    at = np.flatnonzero(there)
    shape = (int(codes.max()) + 1, len(codes))
    return sparse.csr_array((np.ones(len(at)), (codes[at], at)), shape=shape) @ rows


def _row_products(one: Any, other: Any) -> Floats:
    if isinstance(one, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", one, other), dtype=np.float64)
    return np.asarray(one.multiply(other).sum(axis=1), dtype=np.float64).ravel()


def across(questions: Floats, at: int = 0) -> Statistic:
    """Return the mean cosine of pairs of different questions as a function of sums of these columns from `at` on.

    For the sums of all questions but one it is the statistic without that question: the total without it is t - s, and
    (t - s)'(t - s) follows from t't, t's and s's.

    Examples
    --------
    >>> found = cosines(np.eye(2)[[0, 0, 1]], np.ones(3, bool), np.array([0, 0, 1]), np.array([0, 1, 1]))
    >>> float(across(found.questions)(found.questions.sum(axis=0)[None])[0, 0])
    0.5
    """
    towards, squares = questions[:, :2].sum(axis=0)

    def statistic(sums: Floats) -> Floats:
        t, own, n, n_square = sums[:, at : at + 4].T
        pairs = n**2 - n_square
        above = 2 * t - towards + squares - 2 * own
        found: Floats = np.divide(above, pairs, out=np.full(len(sums), np.nan), where=pairs > 0)
        return found[:, None]

    return statistic
