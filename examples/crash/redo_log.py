"""After replaying the log, nothing or all of the transaction is there."""


def check(image):
    """Replay what counts, over what is there."""
    values = {address: image.u64(address) for address in (0x80, 0xC0)}
    for entry in range(image.u64("commit")):
        address = image.u64(16 * entry)
        if address not in values:
            return "the log counts an entry that is not whole"
        values[address] = image.u64(16 * entry + 8)
    if sorted(values.values()) not in ([0, 0], [5, 6]):
        return f"half a transaction: {list(values.values())}"
    if image.passed("committed") and sorted(values.values()) != [5, 6]:
        return "the transaction was committed and is gone"
    return True
