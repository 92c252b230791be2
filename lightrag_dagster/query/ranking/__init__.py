"""The steps of mode `fusion`: pure functions over the arrays of a snapshot."""
