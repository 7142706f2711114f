"""The suite `delivery`: consumer applications with a database, killed and paused at every step."""
