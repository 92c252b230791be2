"""Identity, progress, async helpers, protocols and tokens: what every floor above uses."""
