"""Questions: small named steps from keywords to an answer, behind one class."""
