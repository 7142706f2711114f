"""Kills of the served cluster by SIGKILL under load: nothing acknowledged may be lost."""
