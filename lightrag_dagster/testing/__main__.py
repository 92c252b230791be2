"""Serve the provider by rules until it is stopped, and print its address: `python -m lightrag_dagster.testing`."""

import sys
import threading

from lightrag_dagster.testing.provider import offline_provider

if __name__ == "__main__":
    with offline_provider() as address:
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()
        threading.Event().wait()
