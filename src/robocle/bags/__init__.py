"""Bags: teaching and evaluating from recordings of ROS 2, without ROS.

A bag is read frame by frame, so that its size does not matter. The extra `robocle[bag]` brings the
reader of both formats, sqlite3 and MCAP.
"""

from robocle.bags.recording import Bag, Shot
from robocle.bags.tally import Intervals, Tally
from robocle.bags.writing import write_bag, write_video

__all__ = ["Bag", "Intervals", "Shot", "Tally", "write_bag", "write_video"]
