"""One estimate as text and as LaTeX: sizes in the right number, and a reason in place of an interval."""

from __future__ import annotations

from d3stats.estimate import Estimate, estimates_latex, named_notes


def bare(note: str = "one cluster") -> Estimate:
    return Estimate(name="rate", value=0.5, low=None, high=None, kind="none", n=1, n_clusters=1, note=note)


def test_a_single_cluster_is_written_in_the_singular() -> None:
    made = Estimate(name="rate", value=0.5, low=0.4, high=0.6, kind="Wilson", n=4, n_clusters=1)
    assert str(made) == "rate: 0.500 [0.400, 0.600] (95 % Wilson, n = 4 in 1 cluster)"


def test_latex_says_why_there_is_no_interval_and_not_the_level_of_none() -> None:
    row = estimates_latex([bare(), bare("")]).splitlines()[4:6]
    assert row == [r"rate & 0.500 & - & one cluster & 1 in 1 \\", r"rate & 0.500 & - & - & 1 in 1 \\"]


def test_a_note_of_many_results_is_said_once_with_their_names() -> None:
    noted = [(name, ["few"] if name != "e" else []) for name in "abcde"]
    assert named_notes(noted, "pairs") == ["a; b; c and 1 more: few"]
    assert named_notes([("a", ["few"]), ("b", ["few", "few"])], "pairs") == ["both pairs: few"]
