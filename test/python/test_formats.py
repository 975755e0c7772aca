# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every cache format that decode computes with, on the executor."""

import itertools

import numpy as np
import pytest

import mlatile
from mlatile.testing import FORMATS, decode_slots, make_case, numbers
from lowered_kernels import needs_ptxas
from test_shapes import pairwise

BUILT = ["dsv4", "dsv4_1"]
UE8M0 = [name for name in BUILT if FORMATS[name].scale == "ue8m0"]

AXES = [
    BUILT, [1, 11, 16, 33, 128], [1, 63, 64, 513], [1, 48, 64, 256], [3, 1, 9], [None, 1, 7], [False, True],
    [False, True],
]
SWEEP = pairwise(*AXES)


@pytest.mark.parametrize("kv_format,heads,width,page_size,tokens,splits,lengths,sink", SWEEP)
def test_pairwise(check_case, kv_format, heads, width, page_size, tokens, splits, lengths, sink):
    """Slots that no row selects, and every byte that is padding, hold NaN."""
    number = SWEEP.index((kv_format, heads, width, page_size, tokens, splits, lengths, sink))
    case = make_case(
        number, tokens=tokens, heads=heads, width=width, page_size=page_size, kv_format=kv_format, lengths=lengths,
        sink=sink,
    )
    check_case(case, num_splits=splits, lse_base="e" if number % 4 == 3 else "2")


def test_the_sweep_has_every_pair():
    for (i, a), (j, b) in itertools.combinations(enumerate(AXES), 2):
        assert {(row[i], row[j]) for row in SWEEP} == set(itertools.product(a, b))


def selected(case):
    return np.unique(case.indices[(case.indices >= 0) & (case.indices < case.pool.slots)])


def write_bytes(case, raw, scales=False):
    """Replaces the payloads, or the scales, of all selected slots: raw [slots, bytes]."""
    pool, slots = case.pool, selected(case)
    places = pool._places(slots)[scales]
    pool.pages[(slots // pool.page_size)[:, None], places[:, None] + np.arange(raw.shape[1])] = raw


def set_scales(case, draw):
    """draw(shape) gives float32 for the formats with fp32 scales, else bytes."""
    f, count = case.pool.format, len(selected(case))
    scales = np.ascontiguousarray(draw((count, f.nope // f.group)))
    assert scales.dtype == (np.float32 if f.scale.startswith("f32") else np.uint8)
    write_bytes(case, scales.view(np.uint8).reshape(count, -1), scales=True)


def aim(case, logits):
    """Makes the largest logit that large."""
    key, _ = decode_slots(case.pool, selected(case))
    largest = np.abs(case.q.astype(np.float64) @ key.T).max() * case.sm_scale
    case.q = (case.q.astype(np.float64) * (logits / largest)).astype(case.q.dtype)
    return case


@pytest.mark.parametrize("kv_format", UE8M0)
def test_ue8m0_bytes_at_the_ends(check_case, kv_format):
    """0 is 2^-127, as in a footer that was never written; 254 is 2^127."""
    for choices in ([0, 1], [0, 1, 120, 130]):
        case = make_case(5, tokens=3, heads=4, width=70, page_size=32, kv_format=kv_format)
        rng = np.random.default_rng(1)
        set_scales(case, lambda shape: rng.choice(np.array(choices, np.uint8), shape))
        check_case(case, num_splits=2)

    # One candidate of 0 and +-2^127, so that out, its value, is finite.
    case = make_case(6, tokens=3, heads=4, width=1, page_size=32, kv_format=kv_format, skip=0)
    set_scales(case, lambda shape: np.full(shape, 254, np.uint8))
    rng = np.random.default_rng(2)
    payload = rng.choice(numbers.to_e4m3(np.array([0.0, 1.0, -1.0])), (len(selected(case)), case.pool.format.nope))
    write_bytes(case, payload)
    aim(case, 50.0)
    out, _ = check_case(case)
    assert np.abs(out.astype(np.float64)).max() == 2.0**127


@pytest.mark.parametrize("kv_format", BUILT)
def test_splits_and_framing_do_not_matter(run_case, kv_format):
    case = make_case(9, tokens=4, heads=6, width=70, page_size=16, kv_format=kv_format)
    out = run_case(case, num_splits=2)[0]
    framed = mlatile.sparse_mla(
        **case.arguments(q=case.q.reshape(2, 2, 6, -1), indices=case.indices.reshape(2, 2, 70), num_splits=2)
    )
    assert framed.tobytes() == out.tobytes()


@needs_ptxas
@pytest.mark.parametrize("target", ["sm_120a", "sm_121a"])
@pytest.mark.parametrize("kv_format", BUILT)
def test_machine_code_does_not_spill(kv_format, target):
    problem = dict(num_tokens=3, num_heads=11, width=192, kv_format=kv_format, page_size=48, target=target)
    for options in (dict(num_splits=1, has_sink=True, return_lse=True), dict(num_splits=4, has_topk_length=True)):
        report = mlatile.compile(mlatile.plan(**problem, **options)).parts[0].report
        assert report["spill_bytes"] == 0 and 0 < report["registers"] <= 255
        assert report["shared_bytes"] <= 101_376
