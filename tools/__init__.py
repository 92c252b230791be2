"""What writes pages of the docs, makes samples, and tries mutants; in no distribution."""
