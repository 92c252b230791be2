"""Source tables: immutable versions of shard files, and the ones that were accepted."""
