"""The version of nearfar, written once: pyproject.toml and CMake read it here.

Looking it up among the installed packages would take as long as all else that a start needs.
"""

VERSION = "0.2.0"
