"""The finder of names that may be one."""
