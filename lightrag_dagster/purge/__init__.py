"""The removal of documents for good, and the paid responses and vectors that nothing uses."""
