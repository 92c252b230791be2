"""Where work runs: an engine applies a function to items, in this process or in others."""
