"""Probing: play experiments on a device until it is known what is inside."""

from nearfar.probing.run import PROBERS, Progress, probe, probe_device

__all__ = ["PROBERS", "Progress", "probe", "probe_device"]
