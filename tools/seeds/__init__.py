"""A campaign that runs `urteil test` for each suite of the package, with ten seeds each."""
