"""How things are made: ingestion, generations, what is pending and what it would cost."""
