"""Facts: schemas by which chunks are read, the questions made of them, and the facts in their answers."""
