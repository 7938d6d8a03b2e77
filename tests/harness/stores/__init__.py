"""Stores other than Kafka, each a server of the test's own."""
