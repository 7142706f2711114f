"""The audit of replicas' log directories: what brokers keep on disk, read and judged."""
