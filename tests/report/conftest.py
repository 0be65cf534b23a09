"""Pages of this folder are made with few draws of fits and of plans."""

import pytest
from few_draws import all_draws_in_slow_tests, few_draws_of_fits, few_draws_of_plans

__all__ = ["all_draws_in_slow_tests", "few_draws_of_fits", "few_draws_of_plans"]


@pytest.fixture(autouse=True, scope="module")
def _few_draws(few_draws_of_plans: None) -> None:
    """Every plan has few draws here."""
