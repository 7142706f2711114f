"""The suite `delivery`: consumer applications with a database, killed or paused at any step."""
