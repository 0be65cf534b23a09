"""The methods of the page in plain words, and where they come from."""

from __future__ import annotations

__all__ = ["METHODS", "REFERENCES"]

METHODS = {
    "Question": "Debates of one question are not independent. Whole questions are resampled, or counted as clusters, "
    "so that an interval does not become shorter because a question was debated often.",
    "Counts and mixture": "In each round, the number of right votes of a debate is described by a mixture of two "
    "Beta-Binomial distributions, fitted by maximum likelihood. Mean and spread are those of the chance that a vote is "
    "right. The two components themselves are a description and not a finding.",
    "KS distance": "The Kolmogorov-Smirnov distance between the fitted distributions of two rounds. Its noise is the "
    "distance that appears when each question's two rounds are swapped at random.",
    "Stopping rules": "A rule is replayed on the log: each debate is stopped where the rule says, and the plurality of "
    "that round is its verdict. Savings are measured against unanimity, because stopping at unanimity costs nothing to "
    "set up, and savings against full depth can vanish against it. A flip is a verdict that full depth would have "
    "changed. The intervals are percentiles of the bootstrap; shares have a Wilson interval for clusters.",
    "Agreement": "Cohen's kappa for pairs; for the panel Fleiss' kappa, Krippendorff's alpha, Gwet's AC1 and the plain "
    "share of agreement. Intervals are t intervals over clusters.",
    "Bias by position": "Swap consistency is the share of pairs of verdicts, one per order, that name the same winner. "
    "The first-slot excess is the share of verdicts for the answer shown first, less one half. Its test flips the sign "
    "of each cluster's sum.",
    "Comparison": "The paired difference of two logs over the same questions, with a t interval over clusters and "
    "tests of no difference; p-values of several pairs are adjusted by Holm's method.",
    "Missing votes": "A vote that is missing is left out, unless the command says that it counts as wrong. A missing "
    "vote is never an answer.",
}
"""What each method does, by its name."""

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
