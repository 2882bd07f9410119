"""What a page shows of each kind of result, one file each."""
