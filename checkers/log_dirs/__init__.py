"""The audit of replicas' log directories: reads the files that brokers keep, and checks them."""
