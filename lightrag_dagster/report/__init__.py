"""One page of HTML about a snapshot, which asks no network: its entities as a table and as a picture, with evidence."""
