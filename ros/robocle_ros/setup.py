"""Builds the package robocle_ros: the node is in the Python package robocle, and started here."""

from setuptools import setup

NAME = "robocle_ros"

setup(
    name=NAME,
    version="0.1.0",
    description="A lifecycle node that learns objects from a few pictures each",
    license="Apache-2.0",
    packages=[NAME],
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (f"share/{NAME}/config", ["config/recogniser.yaml"]),
        (f"share/{NAME}/launch", ["launch/recogniser.launch.py"]),
    ],
    entry_points={"console_scripts": [f"recogniser = {NAME}.recogniser:main"]},
)
