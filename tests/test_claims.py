import pytest
import torch

from course_lib.claims import ClaimFailed, claim


def test_a_claim_that_holds_is_said(capsys):
    claim("two is more than one", torch.tensor(2) > 1)
    assert capsys.readouterr().out == "✓ two is more than one\n"


def test_a_claim_that_does_not_hold_names_the_sentence():
    with pytest.raises(ClaimFailed, match="one is more than two"):
        claim("one is more than two", False)


def test_in_smoke_mode_nothing_is_asserted_but_each_claim_is_listed(monkeypatch, capsys):
    monkeypatch.setenv("COURSE_SMOKE", "1")
    claim("one is more than two", False)
    assert "not measured" in capsys.readouterr().out
