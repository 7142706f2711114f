"""The memory of the process: what keeps garbage collections and page faults short."""
