"""A ledger's promise: the law of honoured losses, the coins, and what would break them."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from layers import covering, examples
from pace import idle_seconds
from scipy import stats

from d3stats.planning.ledger import Campaign, Ledger, audit_shares, net_design, over_budget
from d3stats.planning.ledger_policy import LedgerPolicy
from d3stats.stopping import from_text
from d3stats.worlds import Voter, simulate_debates

SECRET = bytes(range(32))


@covering(
    delta=[0.1, 0.01, 1e-5],
    stages=[1, 2, 3, 5, 8, 12],
    allowed=[0, 1, 5, 20, 100, 500],
)
def test_one_share_for_all_stages_solves_the_binomial_identity_to_twelve_digits(
    allowed: int, stages: int, delta: float
) -> None:
    shares = audit_shares(allowed, delta, stages)
    assert len(set(shares)) == 1
    chance = stats.binom.cdf(stages - 1, allowed + stages, shares[0])
    assert chance == pytest.approx(delta, rel=1e-12 if delta > 1e-3 else 1e-10)
    assert over_budget(shares, allowed) == pytest.approx(delta, rel=1e-12 if delta > 1e-3 else 1e-10)


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        (5, (0.319, 0.453, 0.538, 0.646, 0.736, 0.803)),
        (10, (0.189, 0.287, 0.360, 0.464, 0.567, 0.654)),
        (20, (0.104, 0.166, 0.215, 0.295, 0.385, 0.472)),
        (40, (0.055, 0.089, 0.119, 0.170, 0.233, 0.302)),
        (100, (0.023, 0.038, 0.051, 0.075, 0.107, 0.144)),
        (500, (0.005, 0.008, 0.011, 0.016, 0.023, 0.032)),
    ],
)
def test_the_audit_shares_of_the_table(allowed: int, expected: tuple[float, ...]) -> None:
    found = tuple(round(audit_shares(allowed, 0.1, stages)[0], 3) for stages in (1, 2, 3, 5, 8, 12))
    assert found == expected
    assert audit_shares(allowed, 0.1, 1)[0] == pytest.approx(1 - 0.1 ** (1 / (allowed + 1)), rel=1e-13)


@pytest.mark.parametrize("rise", [0.9, 0.6, 0.3])
@pytest.mark.parametrize(("allowed", "stages"), [(0, 2), (7, 3), (40, 5)])
def test_rising_shares_solve_the_convolution_and_have_the_odds_that_they_should(
    allowed: int, stages: int, rise: float
) -> None:
    shares = audit_shares(allowed, 0.1, stages, rise)
    law = np.zeros(allowed + 1)
    law[0] = 1.0
    for share in shares:
        geometric = share * (1 - share) ** np.arange(allowed + 1)
        law = np.convolve(law, geometric)[: allowed + 1]
    assert 1 - law.sum() == pytest.approx(0.1, rel=1e-12)
    odds = [(1 - share) / share for share in shares]
    assert [after / before for before, after in itertools.pairwise(odds)] == pytest.approx(
        [rise] * (stages - 1)
    )
    assert over_budget(shares, allowed) <= 0.1


def test_the_chance_is_that_of_an_exact_enumeration() -> None:
    shares, allowed = [Fraction(1, 3), Fraction(2, 5), Fraction(3, 4)], 4
    inside = sum(
        Fraction(1) * np.prod([share * (1 - share) ** g for share, g in zip(shares, honoured, strict=True)])
        for honoured in itertools.product(range(allowed + 1), repeat=3)
        if sum(honoured) <= allowed
    )
    assert over_budget([float(share) for share in shares], allowed) == pytest.approx(
        float(1 - inside), rel=1e-13
    )


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 1.1, float("nan")])
def test_a_design_needs_a_chance_between_0_and_1(delta: float) -> None:
    with pytest.raises(ValueError, match="delta"):
        net_design(5, delta, 3)
    with pytest.raises(ValueError, match="delta"):
        audit_shares(5, delta, 3)


@pytest.mark.parametrize(
    ("allowed", "stages"), [(0, 1), (5, 3), (100, 8), (30_000, 1), (100_000, 3), (1_000_000, 8)]
)
def test_no_other_theta_allows_a_smaller_audit_share(allowed: int, stages: int) -> None:
    """At a theta, the share solves ``log(10) - stages log g(1) = theta (allowed + 1)``; roots by bisection."""
    from scipy.optimize import brentq

    share, theta = net_design(allowed, 0.1, stages)

    def excess(q: float, at: float) -> float:
        return np.log(10) - stages * np.log1p(-(1 - q) / q * np.expm1(at)) - at * (allowed + 1)

    for factor in (0.8, 0.99, 1.01, 1.2):
        at = theta * factor
        least = -np.expm1(-at) * (1 + 1e-9)  # below it the factor of a loss is negative
        if at * (allowed + 1) > np.log(10) and excess(1 - 1e-9, at) < 0 < excess(least, at):
            assert brentq(excess, least, 1 - 1e-9, args=(at,), xtol=1e-20) > share * (1 - 1e-7)
    assert excess(share, theta) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("stages", [1, 3, 8])
@pytest.mark.parametrize("allowed", [0, 5, 20, 100])
def test_the_design_for_net_losses_ends_after_its_audited_losses_and_its_factor_is_a_martingale(
    allowed: int, stages: int
) -> None:
    share, theta = net_design(allowed, 0.1, stages)
    factors = {y: (1 - (1 - share) * np.exp(theta * y)) / share for y in (1, -1)}
    for y, factor in factors.items():
        assert factor > 0
        assert (1 - share) * np.exp(theta * y) + share * factor == pytest.approx(1)
    bound = (np.log(10) - stages * np.log(factors[1])) / theta
    assert bound == pytest.approx(allowed + 1)
    campaign = Ledger(n=10_000, eps=allowed / 10_000, losses="net", stages=stages).start(SECRET)
    for _ in range(stages):
        assert campaign.share == pytest.approx(share)
        while campaign.decide(early=True) != "audit":
            pass
        campaign.audited(1)
    assert campaign.share == 1.0


def test_the_number_allowed_is_not_one_less_because_of_binary_fractions() -> None:
    for n in (100, 500, 2000, 10_000):
        for hundredths in range(100):
            assert Ledger(n=n, eps=hundredths / 100).allowed == hundredths * n // 100


@pytest.mark.parametrize("losses", ["differs", "gross"])
def test_an_audit_that_differs_or_fails_raises_the_stage_and_the_last_ends_early_stops(losses: str) -> None:
    campaign = Ledger(n=400, eps=0.02, losses=losses, stages=2, rise=0.5).start(SECRET)  # type: ignore[arg-type]
    shares = campaign.audit_design.shares
    seen = []
    for outcome in (0, 1, None):
        while campaign.decide(early=True) != "audit":
            pass
        seen.append(campaign.share)
        campaign.audited(outcome)
    assert seen == [shares[0], shares[0], shares[1]]
    assert (campaign.stage, campaign.share) == (3, 1.0)
    assert {campaign.decide(early=True) for _ in range(1)} == {"audit"}
    campaign.audited(1)
    assert campaign.stage == 3
    found = campaign.certificate()
    assert (found.lost, found.failed) == (2, 1)
    assert any("1 audit failed" in note for note in found.notes)


def test_gains_give_back_what_net_losses_took_and_only_then() -> None:
    campaign = Ledger(n=1000, eps=0.01, losses="net", stages=1).start(SECRET)
    while campaign.decide(early=True) != "audit":
        pass
    campaign.audited(-1)
    before = campaign.bound
    while campaign.decide(early=True) != "audit":
        pass
    campaign.audited(1)
    assert campaign.bound > before
    assert campaign.share < 1.0  # the gain pays for the loss
    while campaign.decide(early=True) != "audit":
        pass
    campaign.audited(None)
    assert campaign.share == 1.0
    bound = campaign.bound
    for outcome in (-1, 1, 0):  # with every stop audited an audit says nothing of what is honoured
        assert campaign.decide(early=True) == "audit"
        campaign.audited(outcome)
    assert campaign.bound == bound


def test_losses_count_as_the_promise_says() -> None:
    by = {name: Ledger(n=100, eps=0.05, losses=name) for name in ("differs", "gross", "net")}  # type: ignore[arg-type]
    cases = [
        ("A", "A", "B"),
        ("B", "A", "A"),
        ("A", "B", "A"),
        ("C", "B", "A"),
        ("A", "B", None),
        (None, "A", "A"),
    ]
    assert [by["differs"].loss(*case) for case in cases] == [0, 1, 1, 1, 1, 1]
    assert [by["gross"].loss(*case) for case in cases] == [0, 1, 0, 0, 1, 1]
    assert [by["net"].loss(*case) for case in cases] == [0, 1, -1, 0, 1, 1]


def test_the_order_of_calls_is_kept() -> None:
    campaign = Ledger(n=2, eps=0.5, stages=1).start(SECRET)
    with pytest.raises(ValueError, match="an audit must be open to be closed; got none"):
        campaign.audited(0)
    assert campaign.decide(early=False) == "deliver"
    while campaign.delivered < 2:
        campaign.decide(early=True)
    if campaign._open:
        with pytest.raises(ValueError, match="audit of debate 2 must be closed first"):
            campaign.decide(early=True)
        with pytest.raises(ValueError, match="loss must be one of 1, 0 or None; got loss=-1"):
            campaign.audited(-1)
        campaign.audited(0)
    with pytest.raises(ValueError, match="n=2 must have no more debates"):
        campaign.decide(early=True)
    with pytest.raises(ValueError, match="stages must be chosen once"):
        campaign.design(3)
    with pytest.raises(ValueError, match="stages must be chosen before an early stop is decided"):
        Ledger(n=2, eps=0.5).start().decide(early=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 0}, "n must be >= 1"),
        ({"eps": 1.0}, "eps must lie below 1, because it is a share"),
        ({"eps": -0.1}, "eps must be >= 0"),
        ({"delta": 0.0}, "delta must lie strictly between 0 and 1"),
        ({"delta": 10}, "10 % is written 0.1"),
        ({"losses": "lost"}, "losses must be one of 'differs', 'gross', 'net'"),
        ({"stages": 0}, "stages must be >= 1"),
        ({"stages": 2, "rise": 0.0}, "rise must lie above 0"),
        ({"rise": 0.5}, "rise must be 1 where stages are chosen"),
        ({"warm_up": 0}, "warm_up must be >= 1"),
        (
            {"incumbent": "ks"},
            "incumbent must be a rule that decides each debate by itself.*decides for a whole batch",
        ),
        (
            {"incumbent": "unanimity | ks:camp=largest"},
            "incumbent must be a rule that decides each debate by itself",
        ),
        ({"incumbent": "unanimty"}, "unanimity"),
    ],
)
def test_what_cannot_be_promised_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        Ledger(**({"n": 100, "eps": 0.05} | settings))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("delta=.1", "ledger must give eps"),
        ("eps=.01,epss=.1", "each name once of eps, delta.*got 'epss=.1' .did you mean 'eps'"),
        ("eps=.01,eps=.1", "each name once"),
        ("eps=one", "ledger must have a number for eps; got 'one'"),
        ("eps=.01,stages=1.5", "a whole number for stages"),
        ("", "as in 'eps=.01,delta=.1'"),
    ],
)
def test_a_text_that_is_no_ledger_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Ledger.from_text(text, n=100)


def test_the_text_of_a_ledger_says_every_setting() -> None:
    ledger = Ledger.from_text("eps=.02, delta=.05, losses=gross, stages=3, lag=64", n=500, incumbent="full")
    assert str(ledger) == (
        "n=500,eps=0.02,delta=0.05,incumbent=full,losses=gross,stages=3,rise=1.0,warm_up=20,lag=64"
    )
    assert ledger.rule == from_text("full")


# What breaks a promise of this kind, and does not break this one.


def rate_over(
    campaigns: int, n: int, eps: float, loss_of: object, secret_of: object = None, stages: int = 1
) -> float:
    """Return how often more than allowed is lost when each early stop d of a campaign loses `loss_of(d, campaign)`."""
    over = 0
    for number in range(campaigns):
        ledger = Ledger(n=n, eps=eps, stages=stages)
        campaign = ledger.start(None if secret_of is None else secret_of(number))  # type: ignore[operator]
        lost = 0
        for d in range(n):
            loss = loss_of(d, campaign)  # type: ignore[operator]
            what = campaign.decide(early=True)
            if what == "audit":
                campaign.audited(loss)
            elif what == "honour":
                lost += loss
        over += lost > ledger.allowed
    return over / campaigns


CAMPAIGNS = 600
LIMIT = 0.1 + 3 * (0.09 / CAMPAIGNS) ** 0.5


def test_questions_that_occur_many_times_have_a_coin_each_time() -> None:
    campaign = Ledger(n=200, eps=0.05, stages=1).start(SECRET)
    assert len({campaign.coin(serial) for serial in range(1, 201)}) == 200
    # 20 debates of a question in a row: all lose or none.
    rate = rate_over(CAMPAIGNS, 120, 0.05, lambda d, campaign: int(d // 20 % 2))
    assert rate <= LIMIT


def test_a_second_campaign_after_the_audits_were_seen_has_new_coins() -> None:
    first = Ledger(n=60, eps=0.05, stages=1).start()
    audited = {d for d in range(60) if first.coin(d + 1) < first.share}
    # Whoever saw the audits loses wherever none was.
    rate = rate_over(CAMPAIGNS, 60, 0.05, lambda d, campaign: int(d not in audited))
    assert rate <= LIMIT
    # The same secret has no promise; it is for resuming alone.
    again = rate_over(20, 60, 0.05, lambda d, campaign: int(d not in audited), lambda number: first.secret)
    assert again == 1.0


def test_an_agent_that_shares_the_seed_of_the_campaign_does_not_know_the_coins() -> None:
    # Draws what a generator of the same seed draws, and loses where a coin like it would not audit.
    drawn = np.random.default_rng(7).random(60).tolist()

    def loss_of(d: int, campaign: Campaign) -> int:
        return int(drawn[d] > campaign.share)

    rng = np.random.default_rng(7)
    assert rate_over(CAMPAIGNS, 60, 0.05, loss_of, lambda number: rng.bytes(32)) <= LIMIT


def test_failed_audits_that_hide_losses_raise_the_stage() -> None:
    over = 0
    for _ in range(CAMPAIGNS):
        ledger = Ledger(n=60, eps=0.05, stages=1)
        campaign, lost = ledger.start(), 0
        for _ in range(60):
            if campaign.decide(early=True) == "audit":
                campaign.audited(None)  # the audit of a losing debate always fails
            else:
                lost += 1
        over += lost > ledger.allowed
    assert over / CAMPAIGNS <= LIMIT


def test_a_debate_that_changes_while_it_is_held_is_never_held_one_at_a_time() -> None:
    # One at a time the decision follows the stop at once: there is no debate that waits and changes.
    campaign = Ledger(n=100, eps=0.05, stages=2).start(SECRET)
    for serial in range(1, 101):
        covered = campaign.covers(serial)
        what = campaign.decide(early=True)
        assert (what == "audit") == covered
        if what == "audit":
            campaign.audited(int(serial % 7 == 0))
    assert any("played on after a wait ends as if" in note for note in campaign.certificate().notes)


def test_what_is_covered_once_is_audited_when_its_turn_comes() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        campaign = Ledger(n=60, eps=0.1, stages=3, rise=0.5).start(rng.bytes(32))
        covered: set[int] = set()
        for serial in range(1, 61):
            covered |= {later for later in range(serial, 61) if campaign.covers(later)}
            what = campaign.decide(early=True)
            assert (what == "audit") == (serial in covered)
            if what == "audit":
                campaign.audited(int(rng.random() < 0.3))


@examples(700, 1500, "n")
def test_the_estimate_of_lost_verdicts_is_unbiased(n: int) -> None:
    rng = np.random.default_rng(11)
    error = []
    for _ in range(n):
        campaign, lost = Ledger(n=80, eps=0.1, stages=3).start(rng.bytes(32)), 0
        for loss in (rng.random(80) < 0.15).astype(int).tolist():
            if campaign.decide(early=True) == "audit":
                campaign.audited(loss)
            else:
                lost += loss
        error.append(campaign.certificate().lost_estimate - lost)
    assert abs(np.mean(error)) < 4 * np.std(error) / len(error) ** 0.5


@pytest.mark.slow
def test_a_decision_takes_less_than_a_millisecond() -> None:
    campaign = Ledger(n=10_000, eps=0.01, stages=3).start(SECRET)

    def decided() -> None:
        for _ in range(10_000):
            if campaign.decide(early=True) == "audit":
                campaign.audited(0)

    assert idle_seconds(decided, tries=1) / 10_000 < 1e-3


@pytest.mark.parametrize("losses", ["differs", "gross", "net"])
def test_the_stages_of_a_certificate_add_up_to_it_and_weigh_each_audited_loss(losses: str) -> None:
    """Each audited loss stands for (1 - q) / q honoured ones, q the audit share of its stage (Horvitz, Thompson)."""
    rng = np.random.default_rng(8)
    campaign = Ledger(n=600, eps=0.02, losses=losses, stages=3).start(SECRET)  # type: ignore[arg-type]
    weighed, counts = 0.0, dict.fromkeys(("honoured", "audited", "lost", "gained", "failed"), 0)
    for _ in range(600):
        share = campaign.share
        if campaign.decide(early=True) != "audit":
            counts["honoured"] += 1
            continue
        loss = int(rng.choice([0, 0, 1, -1 if losses == "net" else 0]))
        campaign.audited(loss)
        counts["audited"] += 1
        counts["lost"] += loss == 1
        counts["gained"] += loss == -1
        weighed += loss * (1 - share) / share
    found = campaign.certificate()
    stages = found.to_frame()
    assert counts["lost"] > 1
    for name, number in counts.items():
        assert getattr(found, name) == number == stages[name].sum(), name
    assert found.lost_estimate == pytest.approx(weighed, abs=1e-12)
    q = stages["audit_share"]
    expected = (stages["lost"] - stages["gained"]) * (1 - q) / q
    np.testing.assert_allclose(stages["lost_estimate"], expected, rtol=1e-12)
    assert stages["lost_estimate"].sum() == pytest.approx(weighed, abs=1e-12)
    assert weighed != 0


@pytest.mark.parametrize(
    ("losses", "allowed", "said"),
    [
        ("gross", 0, "at most 0 of 100 delivered verdicts are wrong where unanimity's are right"),
        ("gross", 1, "at most 1 of 100 delivered verdicts is wrong where unanimity's is right"),
        ("gross", 2, "at most 2 of 100 delivered verdicts are wrong where unanimity's are right"),
        ("differs", 1, "at most 1 of 100 delivered verdicts differs from unanimity's"),
        ("differs", 2, "at most 2 of 100 delivered verdicts differ from unanimity's"),
        ("net", 1, "100 delivered verdicts have at most 1 right ones fewer than unanimity's"),
    ],
)
def test_a_headline_says_the_number_and_agrees_with_it(losses: str, allowed: int, said: str) -> None:
    campaign = Ledger(n=100, eps=allowed / 100, losses=losses, stages=1).start(SECRET)  # type: ignore[arg-type]
    for _ in range(100):
        campaign.decide(early=False)
    assert said in campaign.certificate().headline


def test_a_certificate_does_not_round_its_chance_up() -> None:
    campaign = Ledger(n=1, eps=0.0, delta=0.004, stages=1).start(SECRET)
    campaign.decide(early=False)
    assert "With chance at least 99.6 %" in campaign.certificate().headline


@pytest.mark.parametrize("size", [0, 15, 65])
def test_a_secret_of_another_length_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"secret must have 16 to 64 bytes; got {size} byte"):
        Ledger(n=1, eps=0.0).start(bytes(size))


def test_a_certificate_stays_as_it_was_while_its_campaign_goes_on() -> None:
    campaign = Ledger(n=40, eps=0.1, stages=2).start(SECRET)
    before = campaign.certificate()
    kept = (before.headline, before.to_frame())
    for _ in range(20):
        if campaign.decide(early=True) == "audit":
            campaign.audited(1)
    assert (before.honoured, before.audited, before.lost) == (0, 0, 0)
    assert (before.headline, before.delivered) == (kept[0], 0)
    assert before.to_frame().equals(kept[1])
    assert campaign.certificate().lost > 0


def test_stages_have_the_same_columns_before_any_is_chosen_and_the_last_counts_once_it_has_a_stop() -> None:
    campaign = Ledger(n=9, eps=0.0).start(SECRET)
    none = campaign.certificate().to_frame()
    campaign.design(1)
    one = campaign.certificate().to_frame()
    while campaign.stage == 1:
        if campaign.decide(early=True) == "audit":
            campaign.audited(1)
    assert campaign.certificate().to_frame()["stage"].tolist() == [1]
    assert campaign.decide(early=True) == "audit"
    campaign.audited(0)
    both = campaign.certificate().to_frame()
    assert both["stage"].tolist() == [1, 2]
    assert both["audited"].tolist()[1] == 1
    assert len(none) == 0
    assert len(one) == 1
    assert list(none) == list(one) == list(both)


def test_each_campaign_of_a_study_has_coins_of_its_own_which_are_the_same_in_any_chunk() -> None:
    debates = simulate_debates(Voter(panel=5), 60, 6, rng=0)
    policy = LedgerPolicy.from_text("ledger:eps=.2,delta=.1,stages=2,warm_up=1", 60)
    stops, losses = policy.stops(debates.select(np.tile(np.arange(60), 4)), 0, 0)
    campaigns = stops.reshape(4, 60)
    assert len({tuple(each) for each in campaigns.tolist()}) == 4
    later = policy.stops(debates.select(np.tile(np.arange(60), 2)), 120, 0)
    assert (later[0].tolist(), later[1].tolist()) == (stops[120:].tolist(), losses[120:].tolist())
