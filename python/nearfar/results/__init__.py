"""The one versioned result format: what it holds, and reading and writing its files."""

from nearfar.results.files import check_writable, load, save, write_text
from nearfar.results.schema import SCHEMA, Environment, Point, Result, Target

__all__ = [
    "SCHEMA",
    "Environment",
    "Point",
    "Result",
    "Target",
    "check_writable",
    "load",
    "save",
    "write_text",
]
