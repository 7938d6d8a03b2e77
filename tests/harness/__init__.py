"""What the real-Kafka tests and the failover bench share: brokers, processes, event-log checks."""
