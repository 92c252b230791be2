"""Questions to the graph itself: names, entities, neighbours and paths, on a snapshot or a filtered view of it."""
