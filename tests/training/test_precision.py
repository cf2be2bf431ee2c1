"""Mixed precision: which type where, what `fit` does with it, and that a CPU is left alone."""

import itertools

import pytest
import torch
from torch import nn

from course_lib.training import fit, loop, sequence_loss
from course_lib.training.checkpoints import read_checkpoint
from course_lib.training.precision import autocast, autocast_dtype, gradient_scaler
from course_lib.transformer import Transformer

from .small_runs import everything, make_batches, make_model, squared_error, train


@pytest.fixture(autouse=True)
def not_a_smoke_run(monkeypatch):
    monkeypatch.delenv("COURSE_SMOKE", raising=False)


@pytest.mark.parametrize(("computes", "expected"), [(True, torch.bfloat16), (False, torch.float16)])
def test_cuda_takes_bfloat16_where_the_chip_computes_with_it(monkeypatch, computes, expected):
    """An older chip only imitates bfloat16, slowly, and torch says so to whoever does not ask closely."""
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation=True: computes or including_emulation
    )
    assert autocast_dtype("cuda") == expected


@pytest.mark.parametrize("available", [True, False])
@pytest.mark.parametrize("macos_14", [True, False])
def test_mps_takes_bfloat16_where_torch_has_it(monkeypatch, available, macos_14):
    monkeypatch.setattr(torch.amp, "is_autocast_available", lambda kind: available and kind == "mps")
    monkeypatch.setattr(torch.backends.mps, "is_macos_or_newer", lambda major, minor: macos_14 and major == 14)
    assert autocast_dtype("mps") == (torch.bfloat16 if available and macos_14 else None)


def test_a_cpu_stays_in_full_precision():
    assert autocast_dtype("cpu") is None and autocast_dtype("another") is None
    assert everything(train(mixed_precision=True)) == everything(train())


def test_without_a_type_nothing_is_cast():
    x = torch.ones(2, 2)
    with autocast("cpu", None):
        assert (x @ x).dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
    with autocast("cpu", torch.bfloat16):
        assert (x @ x).dtype == torch.bfloat16


@pytest.mark.parametrize(("dtype", "at_work"), [(None, False), (torch.bfloat16, False), (torch.float16, True)])
def test_the_scaler_is_for_float16_alone(dtype, at_work):
    assert gradient_scaler("cpu", dtype).is_enabled() == at_work


@pytest.fixture
def mixed(monkeypatch):
    """A CPU that computes in 16 bits, as a GPU would."""

    def choose(dtype):
        monkeypatch.setattr(loop, "autocast_dtype", lambda kind: dtype)

    return choose


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_loss_is_computed_in_16_bits_and_nothing_else(mixed, dtype):
    mixed(dtype)
    model, seen = make_model(), []

    def loss(model, batch):
        seen.append(model[0](batch[0]).dtype)
        return squared_error(model, batch)

    def evaluate(model):
        seen.append(model[0](torch.ones(1, 3)).dtype)
        return {}

    history = fit(model, make_batches(), loss, steps=60, lr=0.01, mixed_precision=True, evaluate=evaluate)
    assert seen == [dtype] * 60 + [torch.float32]
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert sum(history.losses[-10:]) < 0.7 * sum(history.losses[:10])
    seen.clear()
    fit(model, make_batches(), loss, steps=1)
    assert seen == [torch.float32], "only where it is asked for"


def overflowing(bad_step):
    """A loss and its batches. It is finite at every step; at one, its gradient times the scaler's factor is not."""

    def loss(model, batch):
        x, y, step = batch
        return squared_error(model, (x, y)) * (1e36 if step == bad_step else 1e-3)

    return loss, ((*batch, step) for step, batch in enumerate(make_batches(), 1))


def test_a_step_whose_gradients_overflow_is_left_out(mixed):
    mixed(torch.float16)
    kept, model = [], nn.Linear(3, 1)
    loss, batches = overflowing(3)

    def keep(model, batch):
        kept.append(model.weight.detach().clone())
        return loss(model, batch)

    history = fit(model, batches, keep, steps=5, lr=0.01, mixed_precision=True)
    moved = [not torch.equal(before, after) for before, after in itertools.pairwise([*kept, model.weight])]
    assert moved == [True, True, False, True, True] and history.steps == 5 and model.weight.isfinite().all()


def test_a_loss_that_is_no_number_is_an_error_all_the_same(mixed):
    mixed(torch.float16)
    with pytest.raises(FloatingPointError, match="at step 1"):
        fit(
            make_model(), make_batches(), lambda m, b: squared_error(m, b) * float("inf"), steps=2, mixed_precision=True
        )


def test_clipping_sees_the_gradient_without_the_factor(mixed):
    """Clipped first and divided then, the step would be 65,536 times shorter."""
    mixed(torch.float16)
    model, (loss, batches) = nn.Linear(3, 1), overflowing(None)
    before = nn.utils.parameters_to_vector(model.parameters()).detach()
    sgd = torch.optim.SGD(model.parameters(), lr=1.0)
    fit(model, batches, loss, steps=1, clip=1e-4, mixed_precision=True, optimizer=sgd)
    moved = nn.utils.parameters_to_vector(model.parameters()).detach() - before
    assert moved.norm().item() == pytest.approx(1e-4, rel=1e-2)


def test_the_factor_is_in_the_checkpoint(mixed, tmp_path):
    mixed(torch.float16)

    def run(stop_at=None, **options):
        model, (loss, batches) = make_model(), overflowing(3)

        def breaks_off(model, batch):
            if batch[2] == stop_at:
                raise RuntimeError
            return loss(model, batch)

        optimizer = torch.optim.Adam(model.parameters())
        history = fit(model, batches, breaks_off, steps=9, mixed_precision=True, optimizer=optimizer, **options)
        return everything((model, optimizer, history))

    expected, path = run(), tmp_path / "run.pt"
    with pytest.raises(RuntimeError):
        run(7, checkpoint=path, checkpoint_every=2)
    halved_once = read_checkpoint(path)["scaler"]
    assert halved_once["scale"] == 2.0**15 and halved_once["_growth_tracker"] == 3
    assert run(checkpoint=path) == expected
    assert read_checkpoint(path)["scaler"] == halved_once | {"_growth_tracker": 6}


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_a_transformer_trains_in_16_bits(mixed, device):
    from course_lib.data.batches import training_batches

    if device == "cpu":
        mixed(torch.bfloat16)
    torch.manual_seed(0)
    model = Transformer(9, 9, d_model=32, num_heads=4, d_ff=64, encoder_layers=1, decoder_layers=1, dropout=0.1).to(
        device
    )
    pairs, seen = [([a, b], [b, a]) for a in range(4, 9) for b in range(4, 9)], []
    model.output.register_forward_hook(lambda module, arguments, result: seen.append(result.dtype))

    def loss(model, batch):
        return sequence_loss(model, batch, smoothing=0.1)

    history = fit(model, training_batches(pairs, 25), loss, steps=60, lr=3e-3, mixed_precision=True)
    assert set(seen) == {autocast_dtype("cuda") if device == "cuda" else torch.bfloat16}
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert sum(history.losses[-5:]) < 0.7 * sum(history.losses[:5])
