"""Sources: which files they hold, and what each says."""
