"""A small simulated home: household objects rendered under chosen conditions.

The renderer is plain numpy and needs no graphics card, driver or window. All random numbers are
keyed by the planned picture, so a picture is equal byte for byte on every machine and in every
order of rendering.
"""
