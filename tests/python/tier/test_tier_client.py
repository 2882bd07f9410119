"""How running trees are found among the processes of the machine."""

from __future__ import annotations

import os

from nearfar.tier import client, control


def test_a_descriptor_that_is_closed_while_it_is_looked_at_hides_no_tree() -> None:
    below = os.open(os.devnull, os.O_RDONLY)
    memory = os.memfd_create(control.NAME)
    os.close(below)  # for the listing itself, which is listed and closed before it is looked at
    try:
        with client._memory(os.getpid()) as found:
            assert os.path.samestat(os.fstat(found), os.fstat(memory))
    finally:
        os.close(memory)
