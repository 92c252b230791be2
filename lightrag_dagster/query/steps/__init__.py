"""Steps of a retrieval, before and after the search of the mode."""
