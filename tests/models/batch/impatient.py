"""`python -m tests.models.batch.impatient` is `lightrag-dagster` with small batches and short pauses between polls."""

import pytest

from lightrag_dagster.cli import main
from lightrag_dagster.models.batch import model, waiting


def shorten(patch: pytest.MonkeyPatch) -> None:
    """Put three requests in a batch, and poll at once."""
    patch.setattr(model, "MAX_REQUESTS", 3)
    patch.setattr(waiting, "FIRST_PAUSE", 0.02)
    patch.setattr(waiting, "LONGEST_PAUSE", 0.02)


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        main()
