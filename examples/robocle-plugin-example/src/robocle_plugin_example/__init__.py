"""An example plug-in for robocle: one classifier and one corruption."""

from robocle_plugin_example.jpeg import JpegCompression
from robocle_plugin_example.knn import NearestNeighbours

__all__ = ["JpegCompression", "NearestNeighbours"]
