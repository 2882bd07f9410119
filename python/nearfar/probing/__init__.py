"""Probing: play experiments on a device until it is known what is inside.

`probers` is the table of all of them; `probe` plays them on a target.
"""
