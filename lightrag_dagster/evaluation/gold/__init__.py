"""Gold: rows that people say passages state, and the scores of what was extracted beside them."""
