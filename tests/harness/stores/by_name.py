"""The stores other than Kafka, by the name that a test's protocol has."""
from .etcd_cluster import EtcdCluster
from .postgres_cluster import PostgresCluster
from .quorum_cluster import QuorumCluster

STORES = {"etcd": EtcdCluster, "postgres": PostgresCluster, "quorum": QuorumCluster}
