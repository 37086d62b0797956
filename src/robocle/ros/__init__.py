"""ROS 2: a lifecycle node that learns and recognises objects in the images of a camera.

`node.py`, `services.py`, `messages.py` and `program.py` need rclpy, which comes from the robot's
distribution. The others do not.
"""
