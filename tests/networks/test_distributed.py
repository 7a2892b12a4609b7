"""Several processes with one batch: the negatives of a keyphrase are the documents of all of them."""

import os
import socket
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import distributed
from torch.multiprocessing import start_processes

from simckp.networks.distributed import gather_rows, shares_of_counts
from simckp.networks.losses import in_batch_contrastive_loss

# Three documents: the first process has two of them, the second one; and a gold keyphrase each.
SHARES = [slice(0, 2), slice(2, 3)]


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    documents, phrases = torch.randn(2, 3, 4, generator=generator).unbind()
    return documents.requires_grad_(), phrases.requires_grad_()


def loss_of(documents: torch.Tensor, phrases: torch.Tensor, own: torch.Tensor, count: float) -> torch.Tensor:
    similarity = torch.cosine_similarity(phrases[:, None], documents[None], dim=-1)
    gold = torch.ones(len(phrases), dtype=torch.bool)
    return in_batch_contrastive_loss(similarity, gold, own, temperature=0.1, count=count)


def work(rank: int, port: int, folder: Path) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(rank), "WORLD_SIZE": "2"}
    distributed.init_process_group("gloo")
    whole_documents, whole_phrases = batch()
    documents = whole_documents[SHARES[rank]].detach().requires_grad_()
    phrases = whole_phrases[SHARES[rank]].detach().requires_grad_()
    count = shares_of_counts({"extraction": len(documents)}, torch.device("cpu"))["extraction"]
    gathered, first = gather_rows(documents)
    assert torch.equal(gathered.detach(), whole_documents.detach())
    loss = loss_of(gathered, phrases, torch.arange(len(documents)) + first, count)
    loss.backward()
    torch.save({"loss": loss.detach(), "documents": documents.grad, "phrases": phrases.grad}, folder / f"{rank}.pt")
    distributed.destroy_process_group()


def test_in_batch_negatives_are_those_of_the_whole_batch(tmp_path: Path) -> None:
    documents, phrases = batch()
    loss_of(documents, phrases, torch.arange(3), 3).backward()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start_processes(work, (port, tmp_path), nprocs=2, start_method="fork")
    parts: list[dict[str, Any]] = [torch.load(tmp_path / f"{rank}.pt") for rank in range(2)]
    # Gradients are averaged over processes, as DDP does: each share holds the loss of all documents twice.
    for name, whole in (("documents", documents), ("phrases", phrases)):
        averaged = torch.cat([part[name] for part in parts]) / 2
        torch.testing.assert_close(averaged, whole.grad, msg=name)
    mean = sum(float(part["loss"]) for part in parts) / 2
    assert mean == pytest.approx(float(loss_of(documents, phrases, torch.arange(3), 3).detach()))


def test_one_process_has_all_rows() -> None:
    documents, _ = batch()
    gathered, first = gather_rows(documents)
    assert gathered is documents and first == 0
