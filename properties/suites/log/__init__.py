"""The suite `log`: several writers and readers of a log while its leaders change."""
