"""Plan: config files become a checked study, its arms, scenarios, seeds and fingerprints."""
