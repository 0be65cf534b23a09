"""Fits of this folder are made with few draws of the test of a second kind of debates."""

from few_draws import all_draws_in_slow_tests, few_draws_of_fits, few_draws_of_plans

__all__ = ["all_draws_in_slow_tests", "few_draws_of_fits", "few_draws_of_plans"]
