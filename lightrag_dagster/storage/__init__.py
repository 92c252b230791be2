"""The home: its files and databases, locks, tables, generations, snapshots and garbage collection."""
