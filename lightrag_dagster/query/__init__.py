"""Questions: small named steps from keywords to an answer, in one class."""
