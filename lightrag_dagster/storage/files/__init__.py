"""Files of a home, on a disk or in a bucket."""
