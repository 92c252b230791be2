"""The named values of automation, each with a sentence on why."""

SOURCE_CHECK_SECONDS = 60
"""Often enough that a new folder is a partition before its owner looks; listing folder names is cheap."""
