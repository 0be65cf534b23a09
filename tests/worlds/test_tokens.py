"""What a round costs in tokens and dollars."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from d3stats.worlds import Lengths, PriceTable, Voter, round_tokens, sample_tokens, simulate_debates

SHORT = Lengths(
    system=10,
    question=20,
    context=5,
    message_words=6,
    verdict_words=2,
    tokens_per_word=1.5,
    sees="everything",
)


def test_a_round_is_the_sum_of_its_calls() -> None:
    sent, written = round_tokens(SHORT, panel=3, n_rounds=4)
    for t in range(4):
        prompts = [35 + 12 * 3 * t for _agent in range(3)]
        assert (sent[t], written[t]) == (sum(prompts), 3 * 12)


def test_a_transcript_that_is_sent_whole_costs_the_square_of_the_rounds() -> None:
    total = np.cumsum(round_tokens(SHORT, 7, 40)[0])
    assert np.allclose(np.diff(total, 3), 0)  # a polynomial of degree two
    assert np.diff(total, 2) == pytest.approx(7 * 7 * 12)


def test_a_panel_that_sees_the_last_round_alone_costs_the_same_from_round_two_on() -> None:
    sent, _ = round_tokens(Lengths(sees="last_round"), 7, 6)
    assert len(set(sent[1:].tolist())) == 1
    assert sent[0] < sent[1]
    assert sent[1] == round_tokens(Lengths(sees="everything"), 7, 2)[0][1]


@pytest.mark.parametrize("sees", ["everything", "last_round"])
def test_lengths_that_vary_keep_their_means(sees: str) -> None:
    lengths = Lengths(spread=0.6, sees=sees)
    drawn = sample_tokens(lengths, 5, 20_000, 4, 1)
    for found, mean in zip(drawn, round_tokens(lengths, 5, 4), strict=True):
        se = found.std(axis=0) / np.sqrt(len(found))
        assert (np.abs(found.mean(axis=0) - mean) <= 4 * se + 1e-9).all()


def test_a_message_is_as_long_when_read_as_when_written() -> None:
    sent, written = sample_tokens(Lengths(spread=0.6), 5, 50, 6, 2)
    assert np.allclose(np.diff(sent, axis=1), 5 * written[:, :-1])
    sent, written = sample_tokens(Lengths(spread=0.6, sees="last_round"), 5, 50, 6, 2)
    assert np.allclose(sent[:, 1:] - sent[:, :1], 5 * written[:, :-1])


def test_simulated_debates_carry_the_tokens_of_their_rounds() -> None:
    t = simulate_debates(Voter(panel=3, lengths=SHORT), 4, 5, 1)
    assert t.tokens is not None
    assert (t.tokens == sum(round_tokens(SHORT, 3, 5))).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"message_words": -1}, "message_words must be >= 0"),
        ({"tokens_per_word": 0}, "tokens_per_word must be > 0"),
        ({"sees": "nothing"}, "sees must be one of 'everything', 'last_round'"),
        ({"spread": float("inf")}, "spread must be finite"),
        ({"question": "long"}, "question must be a number"),
    ],
)
def test_bad_lengths_are_named(given: dict[str, object], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        Lengths(**given)  # type: ignore[arg-type]


def test_dollars_price_prompts_and_completions_apart() -> None:
    prices = PriceTable("2025-06-30", {"m": (2.0, 10.0)})
    assert prices.dollars(1_000_000, 100_000, "m") == pytest.approx(3.0)
    assert prices.dollars([0, 500_000], [100, 0], "m").tolist() == pytest.approx([0.001, 1.0])
    with pytest.raises(ValueError, match="model must be one of 'm'; got model='n'"):
        prices.dollars(1, 1, "n")


def test_the_shipped_table_is_dated_and_dearer_for_larger_models() -> None:
    prices = PriceTable.example()
    assert len(prices.date) == 10
    costs = [prices.dollars(1e6, 1e6, model) for model in ("small", "medium", "large")]
    assert costs == sorted(costs)
    assert costs[0] > 0


def test_a_price_file_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('date = 2025-03-01\n[models."my model"]\ninput = 1\noutput = 0\n')
    prices = PriceTable.read(path)
    assert (prices.date, dict(prices.models)) == ("2025-03-01", {"my model": (1.0, 0.0)})


GOOD = 'date = "2025-03-01"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            GOOD + "[models.m]\ninput = -1\noutput = 2\n",
            r"models.m.input must be >= 0; got models.m.input=-1",
        ),
        (GOOD + "[models.m]\ninput = 1\noutput = -2.5\n", "models.m.output must be >= 0"),
        (GOOD + "[models.m]\ninput = nan\noutput = 2\n", "models.m.input must be finite"),
        (GOOD + '[models.m]\ninput = "a"\noutput = 2\n', "models.m.input must be a number"),
        (GOOD + "[models.m]\ninput = 1\n", r"models.m must have input and output, .*; got \['input'\]"),
        (
            GOOD + "[models.m]\ninput = 1\noutput = 2\ncached = 3\n",
            r"models.m.cached must be <= input \(1\); got 3",
        ),
        ("[models.m]\ninput = 1\noutput = 2\n", "date must be the date of the prices"),
        ('date = "last May"\n[models.m]\ninput = 1\noutput = 2\n', "date must be written YYYY-MM-DD"),
        (GOOD, "models must name at least one model"),
        (GOOD + "currency = 'EUR'\n", "key must be one of 'date', 'note', 'models'; got key='currency'"),
        (GOOD + "models = 3\n", "models must be tables"),
        ("date = \n", "Invalid value"),
    ],
)
def test_a_bad_price_file_gets_one_line_that_names_the_file(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as error:
        PriceTable.read(path)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)
