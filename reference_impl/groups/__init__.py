"""The group coordinator. It manages classic groups, consumer groups of KIP-848, and committed
offsets.
"""
