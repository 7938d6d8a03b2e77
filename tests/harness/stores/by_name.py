"""The stores other than Kafka, by the name that a test's protocol has."""
from .etcd_cluster import EtcdCluster
from .postgres_cluster import PostgresCluster

STORES = {"etcd": EtcdCluster, "postgres": PostgresCluster}
