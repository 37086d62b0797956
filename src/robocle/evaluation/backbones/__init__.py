"""Measurements of backbones: their speed, their int8 twins, and their worlds."""
