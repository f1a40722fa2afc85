"""The package loads a piece only when it is asked for, and offers all of them by name."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import transformer_ref

EXPORTS = {
    "Batch",
    "Decoder",
    "DecoderLayer",
    "Embeddings",
    "Encoder",
    "EncoderDecoder",
    "EncoderLayer",
    "Generator",
    "LabelSmoothing",
    "LayerNorm",
    "MultiHeadedAttention",
    "PositionalEncoding",
    "PositionwiseFeedForward",
    "SimpleLossCompute",
    "SublayerConnection",
    "TrainState",
    "Vocabulary",
    "attention",
    "attention_maps",
    "batches_by_length",
    "beam_search",
    "build_vocabulary",
    "clones",
    "collate_batch",
    "data_gen",
    "greedy_decode",
    "load_checkpoint",
    "make_model",
    "make_optimizer",
    "make_std_mask",
    "rate",
    "run_epoch",
    "save_checkpoint",
    "subsequent_mask",
    "tokenize",
    "train_model",
    "translate",
}


def run(code: str) -> str:
    """Run code in a new interpreter and return what it printed."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_the_package_leaves_torch_alone():
    assert run("import sys, transformer_ref; print('torch' in sys.modules)") == "False"


def test_listing_the_names_leaves_torch_alone():
    code = "import sys, transformer_ref as t; print('attention' in dir(t), 'torch' in sys.modules)"
    assert run(code) == "True False"


def test_a_name_loads_its_own_module_and_what_that_needs():
    loaded = "sorted(m for m in sys.modules if m.startswith('transformer_ref.'))"
    code = f"import sys; from transformer_ref import attention; print({loaded})"
    assert run(code) == "['transformer_ref.scaled_dot_product']"


def test_all_names_every_export():
    assert set(transformer_ref.__all__) >= EXPORTS


def test_every_name_is_the_object_of_its_module():
    for name in transformer_ref.__all__:
        piece = getattr(transformer_ref, name)
        assert piece is getattr(importlib.import_module(piece.__module__), name)


def test_no_module_is_called_like_an_export():
    slugs = {module.name for module in pkgutil.iter_modules(transformer_ref.__path__)}
    assert slugs.isdisjoint(transformer_ref.__all__)


def test_a_name_that_is_not_there_is_refused():
    with pytest.raises(AttributeError, match="no attribute 'attenshun'"):
        _ = transformer_ref.attenshun
    with pytest.raises(ImportError):
        from transformer_ref import attenshun  # noqa: F401
