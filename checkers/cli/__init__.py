"""Contains the command line. Each command has a module, which is imported when the command runs."""
