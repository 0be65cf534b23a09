"""The roles of jurors."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from d3stats.protocols.jury import DOMAINS, curated, jury, personas, pool

DEMOGRAPHIC = re.compile(
    r"\b(old|older|elderly|young|younger|aged|retired|senior|year|years|man|men|woman|women|male|female|boy|girl|"
    r"gender|sex|gay|straight|mother|father|wife|husband|married|widow\w*|black|white|asian|african|european|american|"
    r"latin\w*|arab\w*|jew\w*|christian\w*|muslim\w*|hindu\w*|buddhist\w*|religio\w*|church|faith|race|racial|ethnic\w*|"
    r"immigrant\w*|native|disabled|blind|deaf|rich|poor|class|conservative|liberal|he|she|his|her)\b",
    re.IGNORECASE,
)


def test_the_pool_has_fifty_distinct_roles_over_all_nine_domains() -> None:
    known = pool()
    assert len(known) == 50
    assert len({who.role for who in known}) == len({who.lens for who in known}) == 50
    counts = Counter(who.domain for who in known)
    assert set(counts) == set(DOMAINS)
    assert len(DOMAINS) == 9
    assert max(counts.values()) - min(counts.values()) <= 1


def test_the_curated_jury_has_the_five_roles_of_d3() -> None:
    words = ("ethics", "environmental activist", "business", "social worker", "technology entrepreneur")
    assert [word in who.role for word, who in zip(words, curated(), strict=True)] == [True] * 5
    assert not {who.role for who in curated()} & {who.role for who in pool()}


@pytest.mark.parametrize("who", [*curated(), *pool()], ids=lambda who: who.role)
def test_a_persona_is_a_role_and_no_demographic(who: object) -> None:
    assert not DEMOGRAPHIC.search(f"{who.role} {who.lens}")  # type: ignore[attr-defined]


def test_the_search_for_demographic_words_finds_some() -> None:
    # D3's own list (appendix D.3) has them: its G.2 drops them.
    for role in (
        "A retired professor of ethics",
        "a young environmental activist",
        "a middle-aged business owner",
    ):
        assert DEMOGRAPHIC.search(role)


def test_without_a_seed_the_first_nine_are_of_nine_domains() -> None:
    assert {who.domain for who in personas(9)} == set(DOMAINS)


def test_a_draw_is_the_seeds_and_has_no_role_twice() -> None:
    for seed in range(20):
        drawn = personas(5, seed)
        assert len(set(drawn)) == 5
        assert drawn == personas(5, seed)
    assert len({personas(5, seed) for seed in range(20)}) == 20
    assert set(personas(50, 1)) == set(pool())


def test_a_domain_gives_its_own_and_no_more() -> None:
    for domain in DOMAINS:
        assert {who.domain for who in personas(5, domain=domain)} == {domain}
    with pytest.raises(ValueError, match="n must be at most 5, the roles of the domain 'business'; got n=6"):
        personas(6, domain="business")
    with pytest.raises(ValueError, match=r"domain must be one of .*; got domain=.art."):
        personas(1, domain="art")
    with pytest.raises(ValueError, match="n must be at most 50, the roles of the pool; got n=51"):
        personas(51)


def test_a_jury_larger_than_five_goes_on_with_the_pool() -> None:
    assert jury(7) == curated() + pool()[:2]
    assert jury(5, "pool", seed=3) == personas(5, 3)
    assert jury(0) == jury(0, "pool") == ()
    with pytest.raises(ValueError, match="jurors must be at most 50"):
        jury(51, "pool")
