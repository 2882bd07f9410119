"""What must hold of the log whenever the power fails."""


def check(image):
    """A record that counts is whole, and an append that was acknowledged counts."""
    count = image.u64("count")
    record = [image.u64(f"record+{offset}") for offset in (0, 8, 16)]
    if count and record != [7, 8, 9]:
        return "the count says that the record is there, and it is not whole"
    if image.passed("appended") and not count:
        return "the append was acknowledged and is gone"
    return True
