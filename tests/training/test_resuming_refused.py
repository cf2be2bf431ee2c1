"""A checkpoint that is not one of this run is refused, with the first difference named, before anything changes."""

import copy
import itertools

import pytest
import torch
from torch import nn

from course_lib.data.batches import make_batch
from course_lib.training.checkpoints import CheckpointError, write_checkpoint
from course_lib.training.resuming import fingerprint

from .small_runs import NOAM, make_batches, make_model, train


@pytest.fixture(autouse=True)
def not_a_smoke_run(monkeypatch):
    monkeypatch.delenv("COURSE_SMOKE", raising=False)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.pt"


def other_groups(model):
    parameters = list(model.parameters())
    return torch.optim.Adam([{"params": parameters[1:]}, {"params": parameters[:1]}], betas=(0.9, 0.98), eps=1e-9)


def adam(model, **options):
    return torch.optim.Adam(model.parameters(), **{"betas": (0.9, 0.98), "eps": 1e-9} | options)


OTHERS = {
    "a wider layer": (
        lambda: make_model(9),
        {},
        r"of another model: '0.weight' is torch.float32 \(8, 3\) in it, and .*9",
    ),
    "one more layer": (
        lambda: make_model().append(nn.Linear(1, 1)),
        {},
        "'5.weight' is missing in it, and torch.float32",
    ),
    "one layer less": (
        lambda: make_model()[:4],
        {},
        r"'4.weight' is torch.float32 \(1, 8\) in it, and missing in this",
    ),
    "another type": (lambda: make_model().double(), {}, "and torch.float64"),
    "another optimiser": (
        make_model,
        lambda m: torch.optim.AdamW(m.parameters()),
        "optimizer is 'Adam' in it, and 'AdamW'",
    ),
    "another beta": (make_model, lambda m: adam(m, betas=(0.9, 0.99)), r"betas of parameter group 0 is \(0.9, 0.98\)"),
    "other groups": (make_model, other_groups, "parameter 0 of group 0 is '0.weight' in it, and '0.bias' in this run"),
    "another seed": (make_model, {"seed": 1}, "seed is 0 in it, and 1 in this run"),
    "another clip": (make_model, {"clip": None}, "clip is 1.0 in it, and None in this run"),
    "mixed precision": (make_model, {"mixed_precision": True}, "mixed_precision is False in it, and True"),
    "more evaluations": (make_model, {"evaluate_every": 5}, "evaluate_every is 7 in it, and 5 in this run"),
    "no evaluation": (make_model, {"evaluate": None, "evaluate_every": None}, "evaluate given is True"),
    "another schedule": (make_model, {"lr": lambda step: 2 * NOAM(step)}, "lr of step 1 is"),
    "another schedule later": (make_model, {"lr": lambda step: NOAM(min(step, 9))}, "lr of step 12 is"),
    "other batches": (make_model, {"batches": make_batches(1)}, "batch 12 is not the one that it was"),
    "too few batches": (
        make_model,
        {"batches": [*itertools.islice(make_batches(), 3)]},
        "there were only 3, but steps=30",
    ),
}


@pytest.fixture(scope="module")
def twelve_steps(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run.pt"
    with pytest.raises(RuntimeError):
        train(checkpoint=path, checkpoint_every=12, stop_at=13)
    return path


@pytest.mark.parametrize("other", OTHERS)
def test_the_checkpoint_of_another_run_is_refused_and_nothing_changes(twelve_steps, other):
    make, options, message = OTHERS[other]
    model, written = make(), twelve_steps.read_bytes()
    options = options if isinstance(options, dict) else {"optimizer": options(model)}
    options = {"optimizer": adam(model), "lr": NOAM} | options
    before = copy.deepcopy(model.state_dict())
    with pytest.raises(ValueError, match=message):
        train(model, checkpoint=twelve_steps, **options)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert options["optimizer"].state_dict()["state"] == {} and twelve_steps.read_bytes() == written


def test_a_generator_that_was_used_before_is_named(path):
    """In a notebook: interrupted, and the cell run again without the one that makes the batches."""
    batches = make_batches()
    with pytest.raises(RuntimeError):
        train(checkpoint=path, checkpoint_every=4, stop_at=11, batches=batches)
    with pytest.raises(CheckpointError, match="batch 8 is not the one that it was.*was this generator used before"):
        train(checkpoint=path, batches=batches)


def test_files_that_are_no_checkpoint_of_a_run_are_refused(path):
    for content in (b"", b"notes", b"\x80\x04N."):
        path.write_bytes(content)
        with pytest.raises(CheckpointError):
            train(checkpoint=path)
        assert path.read_bytes() == content
    write_checkpoint(path, {"weights": torch.ones(2)})
    with pytest.raises(CheckpointError, match=r"not one of a training run: it holds \['weights'\]"):
        train(checkpoint=path)


def test_batches_are_told_apart_by_their_numbers():
    batch = make_batch([([5, 6, 7], [4]), ([9], [6, 7])])
    assert fingerprint(batch) == fingerprint(make_batch([([5, 6, 7], [4]), ([9], [6, 7])]))
    x = torch.arange(6.0).reshape(2, 3)
    batches = [batch, make_batch([([5, 6, 8], [4]), ([9], [6, 7])]), x, x.reshape(3, 2), x.mT, x.int(), x.bfloat16(),
               x > 2, x + 1j, torch.tensor(1.0), [x, 1], [x, 2.0], (x,) * 2, {"x": x}, {"y": x}, "x"]  # fmt: skip
    assert len({fingerprint(each) for each in batches}) == len(batches)
    assert fingerprint(x.mT.contiguous().mT) == fingerprint(x)
