"""Mixed precision (Micikevicius et al. 2018): products in 16 bits, weights and sums in 32."""

from contextlib import nullcontext

import torch


def autocast_dtype(device_type):
    """The 16-bit type that pays on a kind of device: "cuda", "mps", "cpu". None for full precision.

    CUDA: bfloat16 where the chip computes with it (float32's range, so small gradients survive), else float16.
    MPS: bfloat16 where torch has it there (macOS 14); float16 would need a scaler, which not every torch has there.
    The CPU: None. Few of them compute faster so, and none of the course's models is large enough to gain.

    >>> autocast_dtype("cpu") is None
    True
    """
    if device_type == "cuda":
        # Without `including_emulation` older chips, which only imitate bfloat16, would say yes.
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
    if device_type == "mps" and torch.amp.is_autocast_available("mps") and torch.backends.mps.is_macos_or_newer(14, 0):
        return torch.bfloat16
    return None


def autocast(device_type, dtype):
    """A context in which torch gives each operation its type, `dtype` or float32. dtype None: nothing changes.

    >>> x = torch.ones(2, 2)
    >>> with autocast("cpu", torch.bfloat16):
    ...     print((x @ x).dtype, x.softmax(dim=-1).dtype)  # a sum in 16 bits would lose too much
    torch.bfloat16 torch.float32
    """
    return nullcontext() if dtype is None else torch.autocast(device_type, dtype=dtype)


def gradient_scaler(device_type, dtype):
    """A `torch.amp.GradScaler`, at work for float16 alone, in which small gradients would become 0.

    It multiplies the loss before the gradients are taken and divides them again; a step whose gradients overflow is
    left out and the factor made smaller. For any other dtype all its methods hand on what they get.

    >>> scaler = gradient_scaler("cpu", torch.bfloat16)
    >>> scaler.is_enabled(), scaler.scale(torch.tensor(2.0)).item()
    (False, 2.0)
    """
    return torch.amp.GradScaler(device_type, enabled=dtype == torch.float16)
