"""ROS 2: a lifecycle node that learns and recognises objects in the images of a camera.

`program.py`, `node.py`, `declared.py`, `publishers.py` and `messages.py` need rclpy, which comes
from the robot's distribution. The others do not.
"""
