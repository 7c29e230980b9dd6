"""Claims: what the measured tables allow to be said, with the uncertainty of saying it."""
