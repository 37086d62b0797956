"""The robustness check: how a learner holds under other light, poses, noise and blur.

    pictures -> exams (learner, picture) -> answers, clean and in each condition -> table, page

Everything stays in memory: no picture, no vector and no state is written.
"""
