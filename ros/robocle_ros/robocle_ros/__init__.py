"""Starts the robocle node from ROS 2: `ros2 run robocle_ros recogniser`."""
