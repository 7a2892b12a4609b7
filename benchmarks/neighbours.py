"""Exact against approximate nearest titles: ``python -m benchmarks.neighbours 1000000`` (``pip install faiss-cpu``).

Synthetic unit vectors with clusters, as titles have them, in the form of :class:`simckp.retrieval.titles.TitleIndex`
(192 dimensions of eight bits). The approximate index is faiss's inverted file with scalar quantisation of eight bits.
Prints one JSON object per index: seconds to build, texts a second, MiB, and the share of the exact 200 nearest.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

from simckp.retrieval.titles import TitleIndex

_DIMENSIONS, _NEIGHBOURS, _ASKED, _AT_A_TIME = 192, 200, 512, 32
_SPREAD = 0.9  # of a vector around the centre of its cluster, as long as the centre
Floats = npt.NDArray[np.float32]


def vectors(count: int, *, per_cluster: int = 100) -> Floats:
    """Return unit vectors, shape (N, D): clusters of a hundred, the axes as unequal as principal components are."""
    random = np.random.default_rng(0)
    scale = 1.0 / np.sqrt(1.0 + np.arange(_DIMENSIONS, dtype=np.float32))
    centre = random.standard_normal((max(1, count // per_cluster), _DIMENSIONS), dtype=np.float32) * scale
    found = random.standard_normal((count, _DIMENSIONS), dtype=np.float32) * (_SPREAD * scale)
    found += centre[random.integers(len(centre), size=count)]
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


def asked(search: Callable[[Floats], npt.NDArray[np.int64]], query: Floats) -> tuple[npt.NDArray[np.int64], float]:
    """Return the neighbours of each query, and queries a second."""
    begun = time.perf_counter()
    found = np.concatenate([search(query[at : at + _AT_A_TIME]) for at in range(0, len(query), _AT_A_TIME)])
    return found, len(query) / (time.perf_counter() - begun)


def measure(count: int) -> list[dict[str, Any]]:
    """Measure the exact and the approximate index."""
    vector_ND = vectors(count + _ASKED)
    query, vector_ND = vector_ND[:_ASKED], vector_ND[_ASKED:]
    begun = time.perf_counter()
    own = TitleIndex(np.eye(_DIMENSIONS, dtype=np.float32), np.round(vector_ND * 127).astype(np.int8), 1 / 127)

    def exact(part: Floats) -> npt.NDArray[np.int64]:
        similarity_BN = own.similarities(part)
        return np.argpartition(-similarity_BN, _NEIGHBOURS, axis=1)[:, :_NEIGHBOURS]

    exact(query[:1])
    built = time.perf_counter() - begun
    right, speed = asked(exact, query)
    rows = [_row("exact", count, built, speed, own.rounded.nbytes * 5, 1.0)]  # eight bits, and float32 to multiply
    begun = time.perf_counter()
    lists = max(16, int(4 * np.sqrt(count)))
    index = faiss.index_factory(_DIMENSIONS, f"IVF{lists},SQ8", faiss.METRIC_INNER_PRODUCT)
    index.train(vector_ND[: 50 * lists])
    index.add(vector_ND)
    built = time.perf_counter() - begun
    size = faiss.serialize_index(index).nbytes
    for probes in (8, 32, 128):
        index.nprobe = min(probes, lists)
        found, speed = asked(lambda part: index.search(part, _NEIGHBOURS)[1], query)
        share = np.mean([len(set(a) & set(b)) / _NEIGHBOURS for a, b in zip(found, right, strict=True)])
        rows.append(_row(f"faiss IVF{lists},SQ8, {probes} lists asked", count, built, speed, size, float(share)))
    return rows


def _row(name: str, count: int, built: float, speed: float, size: int, share: float) -> dict[str, Any]:
    return {
        "index": name,
        "vectors": count,
        "seconds_to_build": round(built, 1),
        "texts_a_second": round(speed),
        "mebibytes": size >> 20,
        "share_of_exact": round(share, 3),
    }


def main() -> None:
    """Measure each size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.neighbours", description=__doc__)
    parser.add_argument("counts", nargs="+", type=int, metavar="VECTORS")
    for count in parser.parse_args().counts:
        for row in measure(count):
            sys.stdout.write(json.dumps(row) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
