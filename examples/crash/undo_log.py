"""After recovery, both words have their old values or both the new ones."""


def check(image):
    """Recover as the program's restart would, then look."""
    if image.u64("log_valid"):
        first, second = image.u64("log_first"), image.u64("log_second")
    else:
        first, second = image.u64("first"), image.u64("second")
    if first != second:
        return f"half a transaction: {first}, {second}"
    if image.passed("committed") and first != 2:
        return "the transaction was committed and is undone"
    return True
