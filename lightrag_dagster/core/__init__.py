"""Identity, progress, async helpers, protocols and tokens, which all other packages use."""
