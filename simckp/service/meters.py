"""Metrics of the service for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_BATCHES = (1, 2, 4, 8, 16, 32)


class Meters:
    """The metrics of one service, in their own registry.

    Attributes:
        registry: The registry that ``/metrics`` shows.
        requests: Number of requests for keyphrases, by status.
        request_seconds: Seconds from arrival to answer.
        batch_documents: Number of requests per batch.
        waiting: Number of requests that are waiting.
    """

    def __init__(self) -> None:
        """Create all metrics."""
        self.registry = CollectorRegistry()
        self.requests = Counter("simckp_requests", "Requests for keyphrases.", ["status"], registry=self.registry)
        self.request_seconds = Histogram("simckp_request_seconds", "From arrival to answer.", registry=self.registry)
        self.batch_documents = Histogram(
            "simckp_batch_documents", "Requests answered together.", buckets=_BATCHES, registry=self.registry
        )
        self.waiting = Gauge("simckp_waiting", "Requests that wait.", registry=self.registry)
