"""Rules for names, types, relations, vectors, summaries and answers, without a model, a network or a key."""
