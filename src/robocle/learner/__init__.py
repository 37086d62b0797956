"""The learner: pictures in, labels out.

- `learner`: Learner, the class that programs use.
- `learned`: what was learned, in memory: a classifier that follows the state.
- `snapshot`: what predictions need after a change. `lessons`: pictures with one label each.
"""

from robocle.learner.learner import Learner

__all__ = ["Learner"]
