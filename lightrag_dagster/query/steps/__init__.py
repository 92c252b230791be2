"""Steps of a retrieval, in front of and behind the mode that finds."""
