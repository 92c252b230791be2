"""The desk of people who decide: names that may be one, opinions about them, and decisions taken."""
