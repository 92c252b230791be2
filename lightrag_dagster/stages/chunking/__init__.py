"""Documents into token windows with exact character spans."""
