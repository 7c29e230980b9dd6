"""specdock: measures whether a drafter is worth more than what the checkpoint already carries."""
