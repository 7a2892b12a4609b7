"""What the service counts for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_BATCHES = (1, 2, 4, 8, 16, 32)


class Meters:
    """The meters of one service, in a registry of their own.

    Attributes:
        registry: What ``/metrics`` shows.
        requests: For keyphrases, by status.
        request_seconds: From arrival to answer.
        batch_documents: Requests answered together.
        waiting: Requests that wait now.
    """

    def __init__(self) -> None:
        """Make all of them, at zero."""
        self.registry = CollectorRegistry()
        self.requests = Counter("simckp_requests", "Requests for keyphrases.", ["status"], registry=self.registry)
        self.request_seconds = Histogram("simckp_request_seconds", "From arrival to answer.", registry=self.registry)
        self.batch_documents = Histogram(
            "simckp_batch_documents", "Requests answered together.", buckets=_BATCHES, registry=self.registry
        )
        self.waiting = Gauge("simckp_waiting", "Requests that wait.", registry=self.registry)
