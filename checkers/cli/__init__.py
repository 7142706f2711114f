"""The command line: one function a command, nothing heavy imported before it is known."""
