import functools
import io
import itertools
import random

import numpy
import pytest
import torch
from torch import nn
from tqdm import tqdm

from course_lib.data.batches import evaluation_batches, make_batch, training_batches
from course_lib.data.vocabulary import EOS, PAD
from course_lib.evaluation import label_smoothing_loss, masked_cross_entropy, sequence_accuracy
from course_lib.generation import write
from course_lib.recurrent import Decoder, Encoder, Seq2Seq
from course_lib.training import History, fit, loop, sequence_loss


@pytest.fixture(autouse=True)
def not_a_smoke_run(monkeypatch):
    monkeypatch.delenv("COURSE_SMOKE", raising=False)


def make_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 1))


def make_batches(seed=0):
    generator = torch.Generator().manual_seed(seed)
    while True:
        x = torch.randn(16, 3, generator=generator)
        yield x, x.sum(-1, keepdim=True)


def squared_error(model, batch):
    return (model(batch[0]) - batch[1]).square().mean()


def parameters(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def test_the_loss_falls_and_the_history_counts():
    history = fit(make_model(), make_batches(), squared_error, steps=200, lr=1e-2)
    assert history.steps == len(history.losses) == 200
    assert sum(history.losses[-20:]) < 0.3 * sum(history.losses[:20])
    assert history.metrics == [] and not history.reached and history.seconds > 0


def test_the_seed_decides_and_the_callers_randomness_is_left_alone():
    def run(seed):
        model = make_model()
        random.seed(1), numpy.random.seed(1), torch.manual_seed(1)
        before = random.getstate(), numpy.random.get_state()[1].tolist(), torch.get_rng_state()
        fit(model, make_batches(), squared_error, steps=10, seed=seed)
        assert (random.getstate(), numpy.random.get_state()[1].tolist()) == before[:2]
        assert torch.equal(torch.get_rng_state(), before[2])
        return parameters(model)

    assert torch.equal(run(0), run(0))
    assert not torch.equal(run(0), run(1)), "dropout did not follow the seed"


def test_randomness_comes_back_after_an_error():
    def fails(model, batch):
        torch.rand(5)
        raise KeyError("mine")

    model = make_model()
    before = torch.get_rng_state()
    with pytest.raises(KeyError):
        fit(model, make_batches(), fails, steps=3)
    assert torch.equal(torch.get_rng_state(), before)


def test_clipping_bounds_the_step():
    def steep(model, batch):
        return 1e6 * squared_error(model, batch)

    def moved(clip):
        model = make_model()
        before = parameters(model)
        fit(model, make_batches(), steep, steps=1, clip=clip, optimizer=torch.optim.SGD(model.parameters(), lr=1.0))
        return (parameters(model) - before).norm().item()

    assert moved(0.5) == pytest.approx(0.5, rel=1e-3)
    assert moved(None) > 1e3


def test_gradients_do_not_add_up_over_steps():
    model = make_model()
    gradients = []
    batch = next(make_batches())

    def loss(model, batch):
        return model[0].weight.sum()

    class Record(torch.optim.SGD):
        def step(self):
            gradients.append(self.param_groups[0]["params"][0].grad.clone())

    fit(model, itertools.repeat(batch), loss, steps=3, clip=None, optimizer=Record(model.parameters(), lr=0.1))
    assert all(torch.equal(gradient, torch.ones(8, 3)) for gradient in gradients) and len(gradients) == 3


def test_evaluation_is_without_dropout_and_gradient_and_training_goes_on():
    seen = []

    def evaluate(model):
        seen.append((model.training, torch.is_grad_enabled()))
        return {"exact": torch.tensor(0.25)}

    def loss(model, batch):
        assert model.training
        return squared_error(model, batch)

    model = make_model()
    history = fit(model, make_batches(), loss, steps=7, evaluate=evaluate, evaluate_every=3)
    assert history.metrics == [{"step": step, "exact": 0.25} for step in (3, 6, 7)]
    assert seen == [(False, False)] * 3 and model.training
    assert [row["step"] for row in fit(model, make_batches(), loss, steps=4, evaluate=evaluate).metrics] == [4]
    model.eval()
    fit(model, make_batches(), loss, steps=1)
    assert not model.training, "the mode that the caller had set is gone"


def test_training_ends_when_the_target_is_reached():
    values = iter([0.1, 0.9, 0.5, 0.99, 1.0])

    def run(target):
        return fit(
            make_model(), make_batches(), squared_error,
            steps=10, evaluate=lambda model: {"exact": next(values)}, evaluate_every=2, target=target,
        )  # fmt: skip

    history = run({"exact": 0.9})
    assert (history.steps, history.reached) == (4, True)
    history = run({"exact": 0.99})
    assert (history.steps, history.reached) == (4, True)


def test_a_target_never_reached_is_said():
    history = fit(make_model(), make_batches(), squared_error, steps=3, evaluate=lambda m: {"a": 0}, target={"a": 1})
    assert (history.steps, history.reached) == (3, False)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_names_the_step_and_spoils_nothing(value):
    model, count = make_model(), itertools.count(1)
    kept = []

    def loss(model, batch):
        kept.append(parameters(model))
        return squared_error(model, batch) * (value if next(count) == 3 else 1.0)

    with pytest.raises(FloatingPointError, match=f"the loss is {value} at step 3"):
        fit(model, make_batches(), loss, steps=5)
    assert torch.equal(parameters(model), kept[-1])


def test_smoke_mode_takes_two_steps(monkeypatch):
    monkeypatch.setenv("COURSE_SMOKE", "1")
    history = fit(make_model(), make_batches(), squared_error, steps=500, evaluate=lambda model: {"exact": 0})
    assert history.steps == 2 and history.metrics == [{"step": 2, "exact": 0.0}]


def test_batches_are_moved_to_the_models_device():
    moved = []

    class Batch:
        def to(self, device):
            moved.append(device)
            return next(make_batches())

    fit(make_model(), itertools.repeat(Batch()), squared_error, steps=2)
    assert moved == [torch.device("cpu")] * 2


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"steps": 0}, ValueError, "steps: expected at least 1, got 0"),
        ({"evaluate_every": 2}, ValueError, "evaluate: expected a function"),
        ({"target": {"a": 1}}, ValueError, "evaluate: expected a function"),
        ({"evaluate": dict, "evaluate_every": 0}, ValueError, "evaluate_every: expected at least 1, got 0"),
        ({"evaluate": lambda model: 0.5}, TypeError, "evaluate: expected a function that returns a dict"),
        ({"evaluate": lambda model: {"a": 1}, "target": {"b": 1}}, ValueError, r"target: evaluate gives \['a'\]"),
        ({"lr": 0.1, "optimizer": "any"}, ValueError, "lr: an optimizer was given as well"),
        ({"checkpoint_every": 2}, ValueError, "checkpoint: expected a path"),
        ({"checkpoint": "run.pt", "checkpoint_every": 0}, ValueError, "checkpoint_every: expected at least 1, got 0"),
        (
            {"checkpoint": "no/such/run.pt"},
            ValueError,
            "checkpoint: expected a file in a folder that exists, got no/such",
        ),
        ({"checkpoint": "."}, ValueError, "checkpoint: expected a file in a folder that exists, got ."),
    ],
)
def test_bad_input_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        fit(make_model(), make_batches(), squared_error, **{"steps": 3, **arguments})


def test_too_few_batches_are_named():
    with pytest.raises(ValueError, match="batches: there were only 2, but steps=3"):
        fit(make_model(), list(itertools.islice(make_batches(), 2)), squared_error, steps=3)


def test_nothing_is_printed_where_nobody_watches(capsys):
    fit(make_model(), make_batches(), squared_error, steps=3)
    assert capsys.readouterr() == ("", "")


def test_the_loss_of_sentences_may_be_smoothed():
    class Constant:
        def __call__(self, source, source_lengths, decoder_input):
            return torch.arange(7.0).expand(*decoder_input.shape, 7)

    batch = make_batch([([5, 6], [4]), ([5], [6, 4])])
    logits = Constant()(None, None, batch.decoder_input)
    assert sequence_loss(Constant(), batch) == masked_cross_entropy(logits, batch.target, PAD)
    expected = label_smoothing_loss(logits, batch.target, 0.1, PAD)
    assert functools.partial(sequence_loss, smoothing=0.1)(Constant(), batch) == expected
    assert expected != sequence_loss(Constant(), batch)


def test_a_seq2seq_learns_by_the_same_loop():
    """A copy of two symbols: loss to almost nothing, and it writes what it read."""
    pairs = [([a, b], [a, b]) for a in range(4, 9) for b in range(4, 9)]
    (everything,) = evaluation_batches(pairs)
    torch.manual_seed(0)
    encoder = Encoder(9, 16, 32)
    model = Seq2Seq(encoder, Decoder(9, 16, 32, encoder.d_context))

    def evaluate(model):
        return {"exact": sequence_accuracy(write(model, everything, 4), everything.target, EOS)}

    history = fit(model, training_batches(pairs, 25), sequence_loss, steps=400, lr=1e-2,
                  evaluate=evaluate, evaluate_every=20, target={"exact": 1.0})  # fmt: skip
    assert history.reached and history.losses[-1] < 0.2


@pytest.mark.gpu
def test_the_seed_decides_on_a_gpu():
    def run(seed):
        model = make_model().cuda()
        batches = ((x.cuda(), y.cuda()) for x, y in make_batches())
        before = torch.cuda.get_rng_state()
        fit(model, batches, squared_error, steps=5, seed=seed)
        assert torch.equal(torch.cuda.get_rng_state(), before)
        return parameters(model)

    assert torch.equal(run(0), run(0)) and not torch.equal(run(0), run(1))


@pytest.mark.parametrize(("reached", "steps"), [(True, 3), (False, 9)])
def test_a_goal_reached_early_fills_the_bar(monkeypatch, reached, steps):
    """tqdm shows a bar in red that ends before its total."""
    bars = []

    def bar(total, shown):
        bars.append(tqdm(total=total, file=io.StringIO()))
        return bars[0]

    monkeypatch.setattr(loop, "progress_bar", bar)
    goal = {"target": {"goodness": 1.0 if reached else 2.0}, "evaluate": lambda model: {"goodness": 1.0}}
    fit(make_model(), make_batches(), squared_error, steps=9, evaluate_every=3, **goal)
    assert bars[0].total == steps


def test_a_history_starts_empty():
    assert History().steps == 0 and History().losses is not History().losses
