"""Training that stops and goes on ends with the very numbers of training that never stopped."""

import copy
import functools
import itertools
import random
import signal

import pytest
import torch

from course_lib.data.batches import evaluation_batches, training_batches
from course_lib.data.vocabulary import EOS
from course_lib.evaluation import sequence_accuracy
from course_lib.generation import write
from course_lib.training import fit, sequence_loss
from course_lib.training.checkpoints import CheckpointError, read_checkpoint
from course_lib.transformer import Transformer

from .small_runs import NOAM, STEPS, everything, make_batches, make_model, squared_error, train


@pytest.fixture(autouse=True)
def not_a_smoke_run(monkeypatch):
    monkeypatch.delenv("COURSE_SMOKE", raising=False)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.pt"


@pytest.fixture(scope="module")
def never_stopped():
    return everything(train())


def test_a_checkpoint_changes_nothing(path, never_stopped):
    run = train(checkpoint=path, checkpoint_every=4)
    assert everything(run) == never_stopped
    state = read_checkpoint(path)
    assert len(state["losses"]) == STEPS and state["seconds"] == pytest.approx(run[2].seconds, abs=0.5)


@pytest.mark.parametrize("seed", range(4))
def test_a_run_that_breaks_off_again_and_again_ends_like_one_that_does_not(path, seed, never_stopped):
    generator, runs = random.Random(seed), 0
    while True:
        try:
            run = train(checkpoint=path, checkpoint_every=generator.choice([1, 3, 4]), stop_at=generator.randint(1, 15))
        except RuntimeError:
            runs += 1
            assert runs < 100
            continue
        break
    assert runs >= 2 and everything(run) == never_stopped


@pytest.mark.parametrize("stop_at", [1, 4, 5, 7, 8, 30])
def test_no_step_is_lost_before_the_last_checkpoint(path, stop_at):
    with pytest.raises(RuntimeError):
        train(checkpoint=path, checkpoint_every=4, stop_at=stop_at)
    kept = (stop_at - 1) // 4 * 4
    assert path.exists() == (kept > 0)
    assert not kept or len(read_checkpoint(path)["losses"]) == kept


@pytest.mark.parametrize(
    "optimizer", [None, torch.optim.AdamW, functools.partial(torch.optim.SGD, lr=0.1, momentum=0.9)]
)
def test_any_optimiser_goes_on(path, optimizer):
    def run(**options):
        model = make_model()
        own = {"lr": 0.01} if optimizer is None else {"optimizer": optimizer(model.parameters())}
        trained, _, history = train(model, **own, **options)
        return copy.deepcopy(trained.state_dict()), history.losses, history.metrics

    expected = run()
    with pytest.raises(RuntimeError):
        run(checkpoint=path, checkpoint_every=4, stop_at=11)
    weights, *numbers = run(checkpoint=path)
    assert all(torch.equal(weights[name], expected[0][name]) for name in weights) and numbers == list(expected[1:])


def test_a_run_that_is_through_is_given_back(path, never_stopped):
    before = train(checkpoint=path)
    written = path.read_bytes()

    def never(*arguments):
        raise AssertionError

    model = make_model()
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    history = fit(model, iter([]), never, steps=STEPS, lr=NOAM, optimizer=optimizer, evaluate=never, evaluate_every=7,
                  checkpoint=path)  # fmt: skip
    assert everything((model, optimizer, history)) == never_stopped and path.read_bytes() == written
    assert history.seconds >= read_checkpoint(path)["seconds"] > 0 and model.training == before[0].training


def test_more_steps_go_on_and_fewer_are_refused(path, never_stopped):
    longer = everything(train(steps=STEPS + 12, evaluate=None, evaluate_every=None))
    train(checkpoint=path, evaluate=None, evaluate_every=None)
    with pytest.raises(CheckpointError, match="it has 30 steps behind it, more than steps=29"):
        train(checkpoint=path, evaluate=None, evaluate_every=None, steps=29)
    run = train(checkpoint=path, steps=STEPS + 12, evaluate=None, evaluate_every=None)
    assert everything(run) == longer and len(read_checkpoint(path)["losses"]) == STEPS + 12


def test_a_target_that_was_reached_stays_reached(path):
    def run(value, **options):
        return train(target={"weight": value}, **options)

    reached = run(-100.0, checkpoint=path)
    assert (reached[2].steps, reached[2].reached) == (7, True)
    assert everything(run(-100.0, checkpoint=path)) == everything(reached)
    assert everything(run(100.0, checkpoint=path)) == everything(train()), "a higher target goes on"


def test_an_interrupt_waits_for_the_step_and_keeps_it(path, never_stopped):
    """Nothing is written every few steps here; without a checkpoint the interrupt comes at once."""
    count = itertools.count(1)

    def interrupt():
        if next(count) == 12:
            signal.raise_signal(signal.SIGINT)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt, match="after step 12 of 30. Run this cell again to go on from there"):
            train(checkpoint=path, before=interrupt)
        assert len(read_checkpoint(path)["losses"]) == 12
        assert everything(train(checkpoint=path)) == never_stopped
        count, seen = itertools.count(1), []
        with pytest.raises(KeyboardInterrupt, match="after step 11 of 30. Run this cell again to train from the start"):
            train(before=lambda: (interrupt(), seen.append(1)))
        assert len(seen) == 11
    finally:
        signal.signal(signal.SIGINT, handler)


def test_smoke_mode_has_no_checkpoints(path, monkeypatch):
    """Two steps are no run: a real one must not go on from them, and its own are not given back as theirs."""
    monkeypatch.setenv("COURSE_SMOKE", "1")
    assert train(checkpoint=path, checkpoint_every=1)[2].steps == 2 and not path.exists()
    monkeypatch.delenv("COURSE_SMOKE")
    train(checkpoint=path)
    written = path.read_bytes()
    monkeypatch.setenv("COURSE_SMOKE", "1")
    assert train(checkpoint=path, checkpoint_every=1)[2].steps == 2 and path.read_bytes() == written


def test_a_transformer_with_label_smoothing_goes_on(path):
    pairs = [([a, b, a], [b, a]) for a in range(4, 9) for b in range(4, 9)]
    (held_out,) = evaluation_batches(pairs[:8])

    def evaluate(model):
        return {"exact": sequence_accuracy(write(model, held_out, 4), held_out.target, EOS)}

    def run(stop_at=None, **options):
        torch.manual_seed(0)
        model = Transformer(9, 9, d_model=16, num_heads=2, d_ff=24, encoder_layers=2, decoder_layers=2, tied="all")
        count = itertools.count(1)

        def loss(model, batch):
            if next(count) == stop_at:
                raise RuntimeError
            return sequence_loss(model, batch, smoothing=0.1)

        optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
        history = fit(model, training_batches(pairs, 8), loss, steps=24, lr=NOAM, optimizer=optimizer,
                      evaluate=evaluate, evaluate_every=5, **options)  # fmt: skip
        return everything((model, optimizer, history))

    expected = run()
    for stop_at in (9, 10):
        with pytest.raises(RuntimeError):
            run(stop_at, checkpoint=path, checkpoint_every=2)
    assert run(checkpoint=path) == expected


@pytest.mark.gpu
def test_a_run_on_a_gpu_goes_on_there_and_on_the_cpu(path):
    expected = everything(train(device="cuda"))
    with pytest.raises(RuntimeError):
        train(device="cuda", checkpoint=path, checkpoint_every=4, stop_at=11)
    written, expected_losses = path.read_bytes(), read_checkpoint(path)["losses"].tolist()
    assert everything(train(device="cuda", checkpoint=path)) == expected
    path.write_bytes(written)
    history = train(checkpoint=path)[2]
    assert history.steps == STEPS and history.losses[:8] == expected_losses


def test_a_loss_is_still_finite_or_an_error(path):
    """The step that failed is not in the checkpoint."""
    with pytest.raises(FloatingPointError, match="at step 6"):
        count = itertools.count(1)
        fit(make_model(), make_batches(), lambda m, b: squared_error(m, b) / (next(count) != 6), steps=9,
            checkpoint=path, checkpoint_every=1)  # fmt: skip
    assert len(read_checkpoint(path)["losses"]) == 5
