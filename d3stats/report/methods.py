"""The methods of the page in plain words, and where they come from."""

from __future__ import annotations

__all__ = ["METHODS", "REFERENCES"]

METHODS = {
    "Key figures": "The accuracy of the verdict and the share of unanimous debates are shares over debates with a "
    "Wilson interval for clusters. The recommended rule is that of d3stats plan, the cheapest ladder of "
    "thresholds that loses at most 1 point of accuracy against unanimity with probability 0.9. This is a probability "
    "under a chain of the number of right votes, which is fitted to this log. Without right answers, agreement with "
    "full depth takes the place of accuracy.",
    "Question": "Debates of one question are not independent. Whole questions are resampled, or counted as clusters, "
    "so that repeated debates of a question do not shorten an interval.",
    "Counts and mixture": "In each round, the number of right votes of a debate is described by a mixture of two "
    "Beta-Binomial distributions, fitted by maximum likelihood. Mean and spread describe the probability "
    "that a vote is right. The two components only describe the data and are not a finding.",
    "KS distance": "The Kolmogorov-Smirnov distance between the fitted distributions of two rounds: of the number of "
    "right votes (pmf), and of the chance that a vote is right (latent). Its noise is the distance after each "
    "question's two rounds are swapped at random.",
    "Stopping rules": "A rule is replayed on the log: each debate stops in the round that the rule "
    "chooses, and the plurality of that round is its verdict. Savings are measured "
    "against unanimity, because that rule needs no setup, and savings against full depth "
    "can vanish when compared with it. A flip is a verdict that differs from the verdict "
    "at full depth. Means have skewness-adjusted t intervals over clusters; shares have a Wilson "
    "interval for clusters.",
    "Agreement": "Cohen's kappa for pairs; for the panel Fleiss' kappa, Krippendorff's alpha, Gwet's AC1 and the plain "
    "share of agreement. Intervals are t intervals over clusters.",
    "Bias by position": "Swap consistency is the share of pairs of verdicts, one per order, that name the same winner. "
    "The first-slot excess is the share of verdicts for the answer shown first, minus one half. Its test "
    "flips the sign "
    "of each cluster's sum.",
    "Personas": "The accuracy of jurors with a persona minus that of the juror without one, paired by item, with a t "
    "interval over clusters. A main effect is the accuracy of a persona minus that of the others; leave one out "
    "compares the majority with and without it.",
    "Comparison": "The paired difference of two logs over the same questions, with a t interval over clusters and "
    "tests of no difference; p-values of several pairs are adjusted by Holm's method.",
    "Tokens and dollars": "Every turn has the price of its model, or of the model that is named for its role. Prompt "
    "and completion tokens have prices of their own; where a log has totals only, the share of completions is "
    "assumed, and a note says so.",
    "Missing votes": "A missing vote is left out, unless an option counts it as wrong. A missing "
    "vote is never an answer.",
}
"""A description of each method, by its name."""

REFERENCES = (
    "Hu, T., Tan, Z., Wang, S., Qu, H. and Chen, T. (2025). Multi-Agent Debate for LLM Judges with Adaptive Stability "
    "Detection. arXiv:2510.12697. (Mixture of counts, KS distance.)",
    "Cohen, J. (1960). A coefficient of agreement for nominal scales. Educational and Psychological Measurement 20, "
    "37-46.",
    "Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychological Bulletin 76, 378-382.",
    "Krippendorff, K. (2004). Content Analysis: An Introduction to Its Methodology. 2nd edition. Sage.",
    "Gwet, K. L. (2008). Computing inter-rater reliability and its variance in the presence of high agreement. British "
    "Journal of Mathematical and Statistical Psychology 61, 29-48.",
    "Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. Journal of the "
    "American Statistical Association 22, 209-212.",
    "Bell, R. M. and McCaffrey, D. F. (2002). Bias reduction in standard errors for linear regression with multi-stage "
    "samples. Survey Methodology 28, 169-181.",
    "Wang, P. et al. (2023). Large Language Models are not Fair Evaluators. arXiv:2305.17926. (Both orders.)",
    "Zheng, L. et al. (2023). Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena. arXiv:2306.05685. (Consistency.)",
    "Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6, "
    "65-70.",
)
