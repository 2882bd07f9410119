"""Whatever the list leads to is a whole node, and what was acknowledged is in the list."""

VALUES = {0x40: 7, 0x80: 8}


def check(image):
    """Walk the list from its head."""
    found = []
    at = image.u64("head")
    while at:
        if image.u64(at) != VALUES.get(at):
            return "the list leads to a node that is not whole"
        found.append(image.u64(at))
        at = image.u64(at + 8)
    if image.passed("left_inserted") and 7 not in found:
        return "an insert was acknowledged and is gone"
    if image.passed("right_inserted") and found != [8, 7]:
        return "the second insert was acknowledged and is gone"
    return True
