"""The named values of automation, each with a sentence on why; when the night begins is the setting `nightly`."""

from datetime import timedelta

SOURCE_CHECK_SECONDS = 60
"""Often enough that a new folder is a partition before its owner looks; listing folder names is cheap."""

MORNING = "0 6 * * *"
"""The report is made when the night's runs have ended and before the first person asks how they went."""

MORNING_DEADLINE = "0 7 * * *"
"""An hour later nobody need wait for it any longer: without a report the daemon was not there."""

MORNING_SLACK = timedelta(hours=2)
"""A report of after five counts for this morning, so that the clock of a slow night does not matter."""

MOST_RUN_SECONDS = 6 * 3600
"""A run that takes longer hangs, on a dead mount say, and is ended so that the others get their turn; what it was
answered is stored, so a first ingestion that is really so long goes on with the next run."""

RECONCILE_SECONDS = 300
"""Sources left behind are few, and the manifests of all sources are read in well under a second."""

RECONCILE_RETRY_SECONDS = 3600
"""What failed for a passing reason, a rate limit or a server, has mostly passed after an hour."""

MOST_FAILURES_A_DAY = 3
"""What failed so often in a day needs a person; after that the nightly schedule alone tries again."""

PUBLICATION_CHECK_SECONDS = 60
"""A merge takes longer than this, so checking more often would publish no sooner."""

PUBLICATION_RETRY_SECONDS = 3600
"""A publication that failed is tried again each hour: often enough for a night, and the runs page stays readable."""

FAILURE_CHECK_SECONDS = 30
"""A failure is worth a message within the minute."""

WEBHOOK_SECONDS = 5.0
"""How long a message may take: the sensor that sends it must answer Dagster within a minute."""

BATCH_CHECK_SECONDS = 300
"""A batch takes minutes at least and a day at most, so that five minutes more are nothing, and polite."""

BATCH_RETRY_SECONDS = 3600
"""A run that could not go on with its batches is tried again each hour, as a publication is."""
