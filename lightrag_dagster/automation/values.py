"""The named values of automation, each with a sentence on why."""

SOURCE_CHECK_SECONDS = 60
"""Often enough that a new folder is a partition before its owner looks; listing folder names is cheap."""

NIGHTLY = "0 2 * * *"
"""Two in the morning, UTC: after the day's last edits, and early enough to be mended before anybody reads."""

PUBLICATION_CHECK_SECONDS = 60
"""A merge takes longer than this, so checking more often would publish no sooner."""

PUBLICATION_RETRY_SECONDS = 3600
"""A publication that failed is tried again each hour: often enough for a night, and the runs page stays readable."""

BATCH_CHECK_SECONDS = 300
"""A batch takes minutes at least and a day at most, so that five minutes more are nothing, and polite."""

BATCH_RETRY_SECONDS = 3600
"""A run that could not go on with its batches is tried again each hour, as a publication is."""
