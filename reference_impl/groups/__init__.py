"""The group coordinator: classic groups, KIP-848 consumer groups and committed offsets."""
