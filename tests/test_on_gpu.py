"""What a GPU's kernels do of their own: rows without any key, 16 bits, compiled code, memory. The CPU runs it, too.

`.ci/gpu` runs this file where there is torch and pytest and nothing else of the course's packages.
"""

import pytest
import torch

from course_lib import bench
from course_lib.attention import scaled_dot_product_attention
from course_lib.decoder_only import DecoderOnly
from course_lib.linear_attention import linear_attention
from course_lib.masks import causal_mask
from course_lib.multi_head_attention import MultiHeadAttention
from course_lib.sparse_attention import window_attention
from course_lib.tiled_attention import tiled_attention

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
everywhere = pytest.mark.parametrize("device", DEVICES)
on_gpu = pytest.mark.parametrize("device", DEVICES[1:])
B, H, T, S, D = 2, 3, 5, 7, 16
TOLERANCES = {torch.float32: 2e-4, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def inputs(device, dtype=torch.float32, T=T, S=S):
    """Query, key, value with gradients."""
    torch.manual_seed(0)
    made = (torch.randn(B, H, N, D).to(device, dtype) for N in (T, S, S))
    return [each.requires_grad_() for each in made]


def masks(device):
    """By name: masks for T queries and S keys, with rows that may look nowhere."""
    torch.manual_seed(1)
    random = torch.rand(B, 1, T, S) < 0.5
    random[:, :, 2] = False
    return {"none": None, "causal": causal_mask(T, S), "empty rows": random, "nothing": torch.zeros(T, S).bool()}


@everywhere
@pytest.mark.parametrize("name", ["none", "causal", "empty rows", "nothing"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_the_fused_kernel_equals_the_textbook(device, name, dtype):
    """In values and gradients, each of them finite, whatever the kernel makes of a row without any key."""
    mask = masks(device)[name]
    mask = None if mask is None else mask.to(device)
    results = []
    for need_weights, precise in ((False, dtype), (True, torch.float32)):
        given = inputs(device, dtype)
        query, key, value = (each.to(precise) for each in given)
        output, _ = scaled_dot_product_attention(query, key, value, mask=mask, need_weights=need_weights)
        gradients = torch.autograd.grad(output.float().square().sum(), given)
        results.append([output, *gradients])
    close = {"atol": TOLERANCES[dtype] * 10, "rtol": TOLERANCES[dtype] * 10}
    for fused, textbook in zip(*results, strict=True):
        assert fused.isfinite().all()
        torch.testing.assert_close(fused.float(), textbook.float(), **close)
    if name == "empty rows":
        assert not results[0][0][:, :, 2].any()


@everywhere
def test_tiled_equals_textbook(device):
    query, key, value = inputs(device, T=70, S=70)
    expected, _ = scaled_dot_product_attention(query, key, value, need_weights=True)
    torch.testing.assert_close(tiled_attention(query, key, value)[0], expected, atol=1e-4, rtol=1e-4)


@everywhere
@pytest.mark.parametrize("attention", [window_attention, linear_attention, tiled_attention])
def test_each_kind_equals_itself_on_the_cpu(device, attention):
    options = {"window": 3} if attention is window_attention else {}
    query, key, value = inputs("cpu", T=9, S=9)
    expected, _ = attention(query, key, value, **options)
    got, _ = attention(query.to(device), key.to(device), value.to(device), **options)
    torch.testing.assert_close(got.cpu(), expected, atol=1e-4, rtol=1e-4)


@everywhere
@torch.no_grad()
def test_a_cached_step_equals_the_whole(device):
    torch.manual_seed(0)
    model = DecoderOnly(20, d_model=32, num_heads=4, d_ff=64, num_layers=2, positions="rotary").to(device).eval()
    ids = torch.randint(20, (3, 8), device=device)
    expected, state = model(ids), model.start()
    for n, token in enumerate(ids.unbind(1)):
        logits, state = model.step(token, state)
        torch.testing.assert_close(logits, expected[:, n], atol=1e-4, rtol=1e-4)


@on_gpu
def test_compiled_equals_plain(device):
    """Backward pass included; the mask of the CPU's path, which looks at it, is not compiled here."""
    torch.manual_seed(0)
    module = MultiHeadAttention(64, 4).to(device)
    x, mask = torch.randn(2, 16, 64, device=device, requires_grad=True), causal_mask(16, device=device)
    results = []
    for each in (module, torch.compile(module, fullgraph=True)):
        output, _ = each(x, mask=mask)
        results.append([output, *torch.autograd.grad(output.square().sum(), [x, *module.parameters()])])
    for compiled, plain in zip(*results, strict=True):
        torch.testing.assert_close(compiled, plain, atol=1e-3, rtol=1e-3)


@on_gpu
def test_the_fused_kernel_holds_no_matrix_of_weights(device):
    """4,096 × 4,096 weights of 4 heads are 256 MiB in float32; without them a tenth of it is enough."""
    query, key, value = (torch.randn(1, 4, 4096, 64, device=device, dtype=torch.bfloat16) for _ in range(3))

    def step(need_weights):
        scaled_dot_product_attention(query, key, value, need_weights=need_weights)

    assert bench.peak(lambda: step(True), device) > 2**28
    assert bench.peak(lambda: step(False), device) < 2**28 / 10
