"""The robustness check: how well a learner recognises the user's own objects under corruptions.

    pictures -> robustness (which learner is tested on which picture) -> result -> advice

Everything stays in memory: no picture, no embedding and no state is written.
"""
