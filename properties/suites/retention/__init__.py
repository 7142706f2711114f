"""The suite `retention`: readers leave and come back while old records are deleted."""
