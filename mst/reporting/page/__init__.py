"""The report's page and its sections."""
