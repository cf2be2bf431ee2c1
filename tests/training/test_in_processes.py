"""Training in processes of its own: one that is killed and goes on, and two that train one model together."""

import multiprocessing
import random
import time

import pytest
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from course_lib.training import fit
from course_lib.training.checkpoints import read_checkpoint

from .small_runs import everything, make_batches, squared_error, train

STEPS = 50


@pytest.fixture(scope="module")
def processes():
    """Processes that have torch from the start, where the system can do that."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["course_lib.training", "torch._dynamo", "pytest"])
    return context


@pytest.fixture(autouse=True)
def not_a_smoke_run(monkeypatch):
    monkeypatch.delenv("COURSE_SMOKE", raising=False)


def train_and_keep(checkpoint, started):
    train(steps=STEPS, checkpoint=checkpoint, checkpoint_every=1, before=started.touch)


def test_training_that_is_killed_again_and_again_ends_the_same(tmp_path, processes):
    """Nearly all of the time goes into writing, so that is where most of the kills hit."""
    runs, generator = tmp_path / "runs", random.Random(0)
    runs.mkdir()
    train(steps=1)  # what torch imports at its first gradient is no time of the training
    expected = train(steps=STEPS, checkpoint=runs / "whole.pt", checkpoint_every=1)
    whole, path, reached = expected[2].seconds, runs / "killed.pt", []
    while len(reached) < 5:
        started = tmp_path / f"started {len(reached)}"
        process = processes.Process(target=train_and_keep, args=(path, started))
        process.start()
        while not started.exists() and process.is_alive():
            time.sleep(0.001)
        time.sleep(generator.uniform(0.02, 0.15) * whole)
        process.kill()
        process.join()
        if process.exitcode == 0:  # a fast machine: it was through before
            break
        reached.append(len(read_checkpoint(path)["losses"]) if path.exists() else 0)
    assert len(reached) >= 3 and sorted(reached) == reached and reached[-1] > reached[0]
    assert everything(train(steps=STEPS, checkpoint=path, checkpoint_every=1)) == everything(expected)
    assert {each.name for each in runs.iterdir()} == {"whole.pt", "killed.pt"}, "what a killed run left is cleaned up"


def two_layers(dropout=0.0):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, 1))


def halves(rank):
    return ((x[rank::2], y[rank::2]) for x, y in make_batches())


def train_together(rank, folder):
    """One of two processes: three runs, whose weights it writes down."""
    distributed.init_process_group("gloo", f"file://{folder / 'meet'}", rank=rank, world_size=2)

    drawn = []

    def draws(model, batch):
        drawn.append(torch.rand(4))
        return squared_error(model, batch)

    def run(steps, dropout=0.0, loss_fn=squared_error, **options):
        model = two_layers(dropout)
        options |= {"lr": 0.01, "evaluate": lambda model: {"bias": model[0].bias.sum()}}
        history = fit(DistributedDataParallel(model), halves(rank), loss_fn, steps=steps, **options)
        assert history.steps == steps and len(history.metrics) >= 1
        return model.state_dict()

    state = {"whole": run(6), "dropout": run(6, 0.5)}
    run(1, loss_fn=draws)
    state["drawn"] = drawn[0]
    distributed.barrier()
    run(4, checkpoint=folder / "run.pt", checkpoint_every=2)
    distributed.barrier()
    state["resumed"] = run(6, checkpoint=folder / "run.pt")
    torch.save(state, folder / f"{rank}.pt")
    distributed.destroy_process_group()


def test_two_processes_train_one_model(tmp_path, processes):
    """As one process does on both halves of each batch; process 0 writes the checkpoint, and both go on from it."""
    both = [processes.Process(target=train_together, args=(rank, tmp_path), daemon=True) for rank in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(60)
        assert process.exitcode == 0
    first, second = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2))
    assert not torch.equal(first.pop("drawn"), second.pop("drawn")), "each drops other numbers"
    alone = two_layers()
    fit(alone, make_batches(), squared_error, steps=6, lr=0.01)
    for name, weight in alone.state_dict().items():
        for kind in first:
            assert torch.equal(first[kind][name], second[kind][name]), kind
        assert torch.equal(first["resumed"][name], first["whole"][name])
        torch.testing.assert_close(first["whole"][name], weight, atol=1e-5, rtol=1e-5)
