"""What others have printed: published figures and background facts, each with its source."""
