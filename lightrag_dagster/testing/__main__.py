"""Serve the provider by rules until it is stopped: `python -m lightrag_dagster.testing`."""

import threading

from lightrag_dagster.testing.provider import offline_provider

if __name__ == "__main__":
    with offline_provider() as address:
        print(address, flush=True)
        threading.Event().wait()
