"""The decode stepper without a browser: its runs against a plain loop, its words, its picture, what it refuses."""

import io
import json
import warnings
from dataclasses import replace

import pytest
import torch
import traitlets
from PIL import Image

from course_lib.data.batches import make_batch
from course_lib.data.vocabulary import EOS, PAD, SPECIAL, Vocabulary
from course_lib.explore.decode_stepper import decode_stepper
from course_lib.explore.tokens import seen
from course_lib.explore.words import words
from course_lib.generation import write
from course_lib.recurrent import Decoder, Encoder, Seq2Seq

from .stepper_models import IDS, KINDS, LENGTH, SYMBOLS, TARGET, all_states, by_loop, make, one_date, random_model


@pytest.mark.parametrize(("kind", "seed", "ends"), [*((kind, 1, 0.0) for kind in KINDS), ("every_step", 0, 4.0)])
def test_every_run_is_what_a_plain_loop_gives(kind, seed, ends):
    model, explorable = random_model(kind, seed, ends), make(kind, seed, ends)
    undisturbed = {forcing: by_loop(model, forcing)[1] for forcing in (True, False)}
    errors, forgotten = 0, 0
    for _ in all_states(explorable):
        place, token = explorable.inject_at, IDS.get(explorable.inject_token)
        read, found = by_loop(model, explorable.forcing, place, token)
        plain, lines = undisturbed[explorable.forcing], explorable.shown()
        assert [IDS[line["reads"]] for line in lines] == read
        for at, (line, logits) in enumerate(zip(lines, found, strict=True)):
            order, p = logits.argsort(descending=True)[:5], logits.softmax(dim=-1)
            assert [IDS[name] for name in line["top"]] == order.tolist() and line["writes"] == line["top"][0]
            assert line["shares"] == pytest.approx(p[order].tolist(), abs=1e-4)
            if at < len(plain):
                distance = (p - plain[at].softmax(dim=-1)).abs().sum().item() / 2
                assert line["moved"] == pytest.approx(distance, abs=1e-4)
                assert IDS[line["without"]] == plain[at].argmax()
            else:
                assert line["moved"] is line["without"] is None
        errors += place > 0
        forgotten += place > 0 and len(lines) == len(plain) and lines[-1]["moved"] < 0.01
    assert errors >= 40 and forgotten < errors, "an error that never matters tests nothing"


def test_without_error_and_teacher_it_writes_what_the_library_writes():
    explorable = make(seed=8, ends=6.0)
    (ids,) = write(random_model(seed=8, ends=6.0), one_date(), LENGTH).tolist()
    assert [line["writes"] for line in explorable.shown()] == [SYMBOLS.symbols[number] for number in ids]


def test_an_error_is_one_of_the_likeliest_of_the_step_before():
    explorable, model = make(), random_model()
    for forcing in (True, False):
        explorable.forcing = forcing
        read, found = by_loop(model, forcing)
        explorable.step = 1
        assert explorable.choices() == [], "no step wrote what the first one reads"
        for place in range(2, len(read) + 1):
            explorable.step = place
            order = found[place - 2].argsort(descending=True).tolist()
            want = [one for one in order if one >= len(SPECIAL) and one != read[place - 1]][:4]
            assert [token for token, _ in explorable.choices()] == [SYMBOLS.symbols[one] for one in want]
            shares = [share for _, share in explorable.choices()]
            assert shares == pytest.approx(found[place - 2].softmax(dim=-1)[want].tolist(), abs=1e-4)


def test_with_a_teacher_only_one_token_read_is_another():
    explorable = make(forcing=True)
    plain = [line["reads"] for line in explorable.shown()]
    assert plain == ["<bos>", *TARGET]
    explorable.step = 4
    explorable.inject_at, explorable.inject_token = 4, explorable.choices()[0][0]
    changed = [line["reads"] for line in explorable.shown()]
    assert [at for at, pair in enumerate(zip(plain, changed, strict=True), 1) if pair[0] != pair[1]] == [4]


def test_an_error_that_a_mode_does_not_offer_is_none():
    explorable = make(inject_at=4, inject_token="<unk>")
    assert explorable.error() is None and "“UNK” is not among the choices at step 4" in explorable.sentence()
    explorable.lang = "ko"
    assert "4단계에서 “UNK”" in explorable.sentence()


def test_the_sentence_holds_the_numbers():
    explorable = make(ends=1.0)
    assert "No error" in explorable.sentence()
    for _ in all_states(explorable):
        lines, said = explorable.shown(), explorable.sentence()
        if explorable.step > len(lines):
            assert f"this run ended at step {len(lines)}." in said
            continue
        line = lines[explorable.step - 1]
        assert f"reads “{seen(line['reads'])}”, writes “{seen(line['writes'])}” (probability " in said
        if explorable.inject_at:
            later = lines[explorable.inject_at - 1 :]
            mean = sum(line["moved"] for line in later if line["moved"] is not None)
            mean /= sum(line["moved"] is not None for line in later)
            assert float(said.split("moves by ")[1].split()[0]) == pytest.approx(mean, abs=0.0051)
            place, most = said.split("most at step ")[1].rstrip(").").split(" (")
            assert float(most) == pytest.approx(max(line["moved"] or 0 for line in later), abs=0.0051)
            assert float(most) == pytest.approx(lines[int(place) - 1]["moved"], abs=0.0051)
        for lang in words("decode_stepper"):
            explorable.lang = lang
            assert "{" not in explorable.sentence()
        explorable.lang = "en"


def test_steps_that_only_one_run_has_differ():
    """The error makes a run longer, or shorter, than the undisturbed one."""
    explorable = make(seed=8, ends=6.0)
    seen_lengths = set()
    for _ in all_states(explorable):
        if explorable.forcing or not explorable.inject_at:
            continue
        lines, plain = explorable.shown(), explorable.runs["free"]["plain"]
        place = explorable.inject_at
        both = min(len(lines), len(plain))
        differ = sum(lines[at]["writes"] != lines[at]["without"] for at in range(place - 1, both))
        differ += abs(len(lines) - len(plain))
        rest = max(len(lines), len(plain)) - place + 1
        assert f" {differ} of {rest} tokens" in explorable.sentence()
        seen_lengths.add((len(lines) > len(plain)) - (len(lines) < len(plain)))
    assert seen_lengths >= {-1, 1}, "try another seed"


@pytest.mark.parametrize("training", [True, False])
def test_the_model_stays_as_it_was(training):
    model, modes = random_model().train(training), set()
    step = model.decoder.step
    model.decoder.step = lambda *arguments: (modes.add(model.training), step(*arguments))[1]
    before = {name: value.clone() for name, value in model.state_dict().items()}
    decode_stepper(model, one_date(), SYMBOLS)
    assert modes == {False} and model.training is training
    assert all(torch.equal(before[name], now) for name, now in model.state_dict().items())
    model.decoder.step = lambda *_: 1 / 0
    with pytest.raises(ZeroDivisionError):
        decode_stepper(model, one_date(), SYMBOLS)
    assert model.training is training


def test_the_page_is_small_whole_and_asks_nobody(tmp_path):
    date, longest = make(), decode_stepper(random_model(), one_date("0123456789-01234567"), SYMBOLS, max_length=20)
    assert date.steps == LENGTH and longest.steps == 20
    for explorable, most in ((date, 60_000), (longest, 150_000)):
        assert len(json.dumps(explorable.page_state())) < most
        page = explorable.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
        assert "http" not in page.replace("http://www.w3.org", "") and "%" + "state%" not in page


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_the_picture_is_small_opaque_and_the_same_each_time(lang):
    states = ({}, {"step": 5, "inject_at": 4, "inject_token": ""}, {"step": LENGTH, "forcing": True})
    pictures = set()
    for state in states:
        explorable = make(lang=lang, **state)
        if explorable.inject_at:
            explorable.step = explorable.inject_at
            explorable.inject_token = explorable.choices()[0][0]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            first, second = explorable.static_png(), explorable.static_png()
        assert first == second and len(first) <= 20_000
        image = Image.open(io.BytesIO(first))
        assert "transparency" not in image.info and len(image.convert("RGB").getcolors()) > 8
        pictures.add(first)
    assert len(pictures) == len(states)
    data, metadata = explorable._repr_mimebundle_()
    assert data["text/plain"] == metadata["image/png"]["alt"] == explorable.sentence()


def test_words_and_signs_can_be_drawn():
    """Tokens that are words, blanks, formulas or Korean."""
    vocabulary = Vocabulary(["사랑해", "$x$", " ", "constructor", "a" * 30, "{step}", "</script>"])
    model = Seq2Seq(Encoder(20, 8, 12), Decoder(len(vocabulary), 8, 12, 12))
    batch = make_batch([([4], vocabulary.encode(["사랑해", "$x$", " ", "constructor", "a" * 30, "{step}"]))])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = decode_stepper(model, batch, vocabulary, source="$나는$ " * 30, forcing=True, step=4)
        assert shown.static_png() and "reads “␣”" in shown.sentence()
    shown.step = 7
    assert "reads “{step}”" in shown.sentence()


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"model": torch.nn.Linear(2, 2)}, TypeError, "model: expected `encode` and `step`.*got Linear"),
        ({"batch": [1]}, TypeError, "batch: expected a Batch.*got list"),
        ({"batch": make_batch([([4], [5])] * 3)}, ValueError, "batch: expected one example, got 3"),
        ({"batch": one_date("0" * 20)}, ValueError, "batch: expected a target of at most 20 tokens with EOS, got 21"),
        ({"vocabulary": "0123"}, TypeError, "vocabulary: expected a Vocabulary.*got str"),
        ({"vocabulary": Vocabulary("abc")}, ValueError, "vocabulary: expected the 15 symbols of the target, got 7"),
        ({"max_length": 0}, ValueError, "max_length: expected 1 to 20 steps, got 0"),
        ({"max_length": 21}, ValueError, "max_length: expected 1 to 20 steps, got 21"),
        ({"max_length": "12"}, ValueError, "max_length: expected 1 to 20 steps, got '12'"),
        ({"step": 13}, ValueError, "step: expected from 1 to 12, got 13"),
        ({"inject_at": 1}, ValueError, r"inject_at: expected 0 \(nowhere\), or from 2 to 12, got 1"),
        ({"inject_token": "x"}, ValueError, "inject_token: expected \"\" or one of .*, got 'x'"),
        ({"source": 3}, ValueError, "source"),
        ({"lang": "fr"}, ValueError, "lang"),
    ],
)
def test_refuses(changed, error, words):
    arguments = {"model": random_model(), "batch": one_date(), "vocabulary": SYMBOLS, "max_length": LENGTH} | changed
    positional = [arguments.pop(name) for name in ("model", "batch", "vocabulary")]
    with pytest.raises((error, traitlets.TraitError), match=words):
        decode_stepper(*positional, **arguments)


def test_a_model_that_has_diverged_is_named():
    model = random_model()
    with torch.no_grad():
        model.decoder.output.bias.fill_(float("nan"))
    with pytest.raises(ValueError, match="the model's logits holds NaN"):
        decode_stepper(model, one_date(), SYMBOLS)


def test_state_is_checked_and_reset_knows_the_beginning():
    explorable = make(step=3)
    assert explorable.start == {"step": 3, "forcing": False, "inject_at": 0, "inject_token": ""}
    for name, value in (("step", 0), ("step", 13), ("inject_at", 1), ("inject_token", "z")):
        with pytest.raises(Exception, match=f"{name}: expected"):
            setattr(explorable, name, value)
    assert explorable.step == 3 and explorable.inject_at == 0


def test_a_padded_target_and_a_single_token_will_do():
    batch = make_batch([([4, 5], SYMBOLS.encode(TARGET)), ([4], [])])
    assert batch.target[1].tolist() == [EOS, *[PAD] * 10]
    alone = replace(
        batch, source=batch.source[1:], source_lengths=batch.source_lengths[1:], target=batch.target[1:],
        decoder_input=batch.decoder_input[1:],
    )  # fmt: skip
    shown = decode_stepper(random_model(), alone, SYMBOLS, forcing=True)
    assert [line["reads"] for line in shown.shown()] == ["<bos>"] and shown.static_png()
