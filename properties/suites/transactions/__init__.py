"""The suite `transactions`: transactional producers that are replaced, die or are late."""
