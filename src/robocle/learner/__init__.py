"""The learner: pictures in, labels out.

- `learner`: Learner, the class that programs use. `opening`: how one begins.
- `pipeline`, `embedding`: from pictures to embeddings. `finding`, `tracking`: objects in boxes, and
  through a video.
- `learned`: the learned part, a classifier that follows a state. `editing`: its changes.
"""

from robocle.learner.learner import Learner

__all__ = ["Learner"]
