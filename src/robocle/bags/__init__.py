"""Bags: teaching and evaluating from recordings of ROS 2, without ROS.

A bag is read frame by frame, so its size does not matter. The extra `robocle[bag]` installs the
reader of both formats, sqlite3 and MCAP.

- `recording`: reading the frames of a bag. `writing`: a bag from pictures or a video.
- `tally`: the labels of the frames, and how often these are recognised.
"""

from robocle.bags.recording import Bag, BagFrame
from robocle.bags.tally import Intervals, Tally
from robocle.bags.writing import write_bag, write_video

__all__ = ["Bag", "BagFrame", "Intervals", "Tally", "write_bag", "write_video"]
