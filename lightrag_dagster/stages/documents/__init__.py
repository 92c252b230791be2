"""Sources, their files, and the text of each file."""
