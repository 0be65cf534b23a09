"""Verdicts, lengths, families and labels may describe the answers or the places: each table gives the same numbers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from layers import covering, sampled

from d3stats.inference.bias import as_judgments, length_bias, position_bias, self_preference


def verdicts(seed: int, n: int = 24, both: bool = True) -> pd.DataFrame:
    """Verdicts of two judges in both orders, all columns as of the answers."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        long = rng.integers(50, 400, 2)
        family = rng.permutation(["x", "y"])
        label = "AB"[rng.integers(2)]
        for order in ("AB", "BA") if both else (("AB", "BA")[rng.integers(2)],):
            for judge, own in (("J", "x"), ("K", "z")):
                pull = 0.6 * np.log2(long[0] / long[1]) + (1.2 if label == "A" else -1.2)
                pull += 0.8 if order == "AB" else -0.8
                vote = "A" if rng.random() < 1 / (1 + np.exp(-pull)) else "B"
                rows.append((f"i{i}", judge, own, order, vote, label, *long, *family))
    names = [
        "item",
        "judge",
        "judge_family",
        "order",
        "vote",
        "label",
        "length_a",
        "length_b",
        "family_a",
        "family_b",
    ]
    return pd.DataFrame(rows, columns=names)


def by_place(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The same verdicts, with some columns as of the places: vote, label, length, family."""
    back = table["order"] == "BA"
    made = table.copy()
    for name in columns:
        if name in ("vote", "label"):
            made[name] = table[name].where(~back, table[name].map({"A": "B", "B": "A"}))
        else:
            made[f"{name}_a"] = table[f"{name}_a"].where(~back, table[f"{name}_b"])
            made[f"{name}_b"] = table[f"{name}_b"].where(~back, table[f"{name}_a"])
    return made


def numbers(table: pd.DataFrame, **how: Any) -> list[float]:
    found = [
        position_bias(table, judge="J", rng=1, **how),
        length_bias(table, judge="J", **how),
        self_preference(table, judge="J", **how),
    ]
    return [value for audit in found for e in audit.estimates for value in (e.value, e.low, e.high)]


@cache
def expected() -> list[float]:
    """The numbers of the table of seed 3, which every other writing of it must give."""
    return numbers(verdicts(3))


def are_those_of(made: pd.DataFrame, table: pd.DataFrame, **how: Any) -> None:
    """Hold the verdicts read from one table against those of the other; audits compute with nothing else of them."""
    found, expected = as_judgments(made, **how), as_judgments(table)
    for part in ("item", "judge", "cluster", "vote", "order", "label"):
        assert getattr(found, part).tolist() == getattr(expected, part).tolist(), part


@pytest.mark.parametrize("of_place", [(), ("length",), ("length", "family"), ("length", "family", "label")])
def test_votes_by_place_give_the_numbers_of_votes_by_answer(of_place: tuple[str, ...]) -> None:
    table = verdicts(3)
    slots = by_place(table, "vote", *of_place)
    are_those_of(slots, table, votes="slot")
    if of_place:
        assert numbers(slots, votes="slot") == pytest.approx(expected(), nan_ok=True)
    notes = as_judgments(slots, votes="slot").notes
    for name in of_place:
        assert any(name in note for note in notes if "as of the places" in note)
    assert not any(note.startswith("WARNING") and "answers" in note for note in notes)


@pytest.mark.parametrize("of_place", ["length", "family", "label"])
def test_columns_that_change_places_are_refused_where_votes_name_answers(of_place: str) -> None:
    table = by_place(verdicts(4), "vote", of_place)
    for audit in (position_bias, length_bias, self_preference):
        with pytest.raises(ValueError, match=r"exchanged between AB and BA in 24 items.*--votes slot"):
            audit(table)


def test_a_few_exchanged_items_are_a_warning() -> None:
    table = verdicts(5)
    few = table["item"].isin(["i1", "i2"])
    mixed = pd.concat([table[~few], by_place(table[few], "length")]).sort_index()
    for votes in ("answer", "slot"):
        notes = as_judgments(mixed, votes=votes).notes  # type: ignore[arg-type]
        assert any(n.startswith("WARNING") and "exchanged" in n and "2 of 24 items" in n for n in notes)


def test_where_no_item_tells_what_was_taken_is_a_warning() -> None:
    table = by_place(verdicts(6, both=False), "vote")
    warned = [n for n in as_judgments(table, votes="slot").notes if n.startswith("WARNING")]
    assert len(warned) == 1
    assert "no item tells whether length_a and length_b, family_a and family_b, label" in warned[0]
    are_those_of(table, verdicts(6, both=False), votes="slot")


@covering(
    name=["is_swapped", "swapped", "Flipped", "is_flipped"],
    words=[(False, True), (0, 1), ("no", "yes"), ("False", "True")],
)
def test_a_column_of_swaps_is_the_order(name: str, words: tuple[Any, Any]) -> None:
    table = verdicts(3)
    other = table.drop(columns="order").assign(
        **{name: table["order"].map(dict(zip(("AB", "BA"), words, strict=True)))}
    )
    read = as_judgments(other)
    assert read.order.tolist() == as_judgments(table).order.tolist()
    assert any(f"order is {name!r}" in note for note in read.notes)
    if name == "swapped":
        assert numbers(other) == pytest.approx(expected(), nan_ok=True)
    chosen = as_judgments(other.assign(swap=1), columns={"order": name})
    assert chosen.order.tolist() == as_judgments(table).order.tolist()


def test_two_columns_of_swaps_and_other_words_are_refused() -> None:
    table = verdicts(8).drop(columns="order")
    with pytest.raises(ValueError, match=r"order must be one column.*--columns order="):
        position_bias(table.assign(swapped=True, flipped=False))
    with pytest.raises(ValueError, match="'swapped' must say True or False"):
        position_bias(table.assign(swapped="left"))


def coded(table: pd.DataFrame, votes: tuple[str, str]) -> pd.DataFrame:
    """The same verdicts with other words for the vote."""
    return table.assign(vote=table["vote"].map(dict(zip("AB", votes, strict=True))))


def of_models(table: pd.DataFrame, *, order: bool, names: bool) -> pd.DataFrame:
    """The same verdicts with a column for each model in the order shown; votes and labels name a model, or a column."""
    back = table["order"] == "BA"
    made = by_place(table, "length", "family", *(() if names else ("vote", "label")))
    ends = [
        ("gpt" if k % 2 else "llama", "llama" if k % 2 else "gpt") for k in made["item"].str[1:].astype(int)
    ]
    models = pd.DataFrame(ends, columns=["A", "B"], index=made.index)
    if names:
        for name in ("vote", "label"):
            made[name] = models["A"].where(made[name] == "A", models["B"])
    made["model_a"] = models["A"].where(~back, models["B"])
    made["model_b"] = models["B"].where(~back, models["A"])
    return made if order else made.drop(columns="order")


@sampled("words", [("1", "2"), ("first", "second"), ("left", "right")], (0,))
def test_votes_that_may_name_answers_or_places_are_refused_until_it_is_said(words: tuple[str, str]) -> None:
    table = verdicts(3)
    for how, made in (("answer", table), ("slot", by_place(table, "vote"))):
        told = coded(made, words)
        for audit in (position_bias, length_bias, self_preference):
            with pytest.raises(
                ValueError, match=r"are places or the answers A and B.*--votes slot.*--votes answer"
            ):
                audit(told)
        are_those_of(told, table, votes=how)


def test_numbers_beside_labels_or_orders_in_numbers_name_answers() -> None:
    table = verdicts(3)
    both = coded(table, ("1", "2")).assign(label=table["label"].map({"A": "1", "B": "2"}))
    orders = coded(table, ("1", "2")).assign(order=table["order"].map({"AB": "1-2", "BA": "2-1"}))
    for made in (both, orders):
        are_those_of(made, table)
        assert any("names of the answers 1 and 2" in note for note in as_judgments(made).notes)
    slots = by_place(both.assign(vote=table["vote"], label=table["label"]), "vote", "label")
    with pytest.raises(ValueError, match="label must describe the answers"):
        position_bias(
            slots.assign(
                vote=slots["vote"].map({"A": "1", "B": "2"}), label=slots["label"].map({"A": "1", "B": "2"})
            )
        )


@pytest.mark.parametrize(("order", "names"), [(True, True), (False, True), (False, False)])
def test_columns_of_models_tell_the_answer_of_a_vote_and_the_order(order: bool, names: bool) -> None:
    table = verdicts(3)
    made = of_models(table, order=order, names=names)
    are_those_of(made, table)
    if not order:
        assert numbers(made) == pytest.approx(expected(), nan_ok=True)
    said = as_judgments(made).notes
    assert any("name models" in note for note in said) == names
    assert any("order is that of" in note for note in said) == (not order)


def test_models_in_one_order_tell_no_order_and_the_refusal_says_what_to_add() -> None:
    table = verdicts(12)
    one = table[table["order"] == "AB"].drop(columns="order").assign(model_a="x", model_b="y", label=None)
    with pytest.raises(ValueError, match="add a column order, AB where A was first"):
        position_bias(one, judge="J")


@sampled("words", [("original", "swapped"), ("Normal", "Reversed"), ("forward", "backward")], (1,))
def test_orders_in_words(words: tuple[str, str]) -> None:
    table = verdicts(3)
    made = table.assign(order=table["order"].map(dict(zip(("AB", "BA"), words, strict=True))))
    are_those_of(made, table)
    assert any(f"{words[1]!r} is BA" in note for note in as_judgments(made).notes)
    with pytest.raises(ValueError, match=r"order must be one of AB, BA or missing.*write AB where"):
        position_bias(table.assign(order="upside"))


@sampled("seed", range(6), (0, 5))
def test_letters_of_places_read_as_answers_are_warned_of_and_those_of_answers_are_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    label = rng.choice(["A", "B"], 80)
    always = seed == 5  # a judge that always takes the first place is right half the time in both orders
    rows = []
    for k, right in enumerate(label):
        for order in ("AB", "BA"):
            vote = right if rng.random() < 0.8 else "AB"["BA".index(right)]
            rows.append((f"i{k}", order, order[0] if always else vote, right))
    table = pd.DataFrame(rows, columns=["item", "order", "vote", "label"])

    def warned(made: pd.DataFrame, **how: Any) -> bool:
        return any(
            n.startswith("WARNING") and "less than by chance" in n for n in as_judgments(made, **how).notes
        )

    assert not warned(table)
    assert warned(by_place(table, "vote")) == (not always)
    assert not warned(by_place(table, "vote"), votes="slot")


def test_a_table_without_rows_and_votes_by_place_without_an_order_are_refused() -> None:
    table = pd.DataFrame({"item": ["a", "b"], "vote": ["A", "B"], "order": ["AB", None]})
    with pytest.raises(ValueError, match="a table of verdicts must have rows; got none"):
        as_judgments(table[:0])
    with pytest.raises(ValueError, match="needs the order of every verdict"):
        as_judgments(table, votes="slot")
    read = as_judgments(table[:1], votes="slot")
    with pytest.raises(
        ValueError, match="votes must be left out for verdicts, because as_judgments read them as"
    ):
        as_judgments(read, votes="answer")
