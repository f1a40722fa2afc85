"""Decoding with cached keys and values: each step computes the new position only.

A position of the decoder never sees a later one, so what it has computed stays as it is. Kept are
each layer's keys and values: of the memory, which never change, and of the target so far.
"""

from typing import Any

import torch
from torch import Tensor, nn

from .decoder import Decoder, DecoderLayer
from .embeddings import Embeddings, PositionalEncoding
from .feed_forward import PositionwiseFeedForward
from .model import EncoderDecoder
from .multi_head import MultiHeadedAttention
from .residual import LayerNorm, SublayerConnection
from .scaled_dot_product import attention

# What a decoder may be made of if it is to be computed position by position.
_KNOWN = {
    Decoder,
    DecoderLayer,
    LayerNorm,
    MultiHeadedAttention,
    PositionwiseFeedForward,
    SublayerConnection,
    nn.Dropout,
    nn.Linear,
    nn.ModuleList,
}


def can_cache(model: Any) -> bool:
    """Tell whether a model is this package's own, and computes what its classes say.

    Not so in train mode, where each step drops something else, nor where somebody watches the
    decoder's modules with hooks or has replaced their methods.
    """
    if type(model) is not EncoderDecoder or type(model.tgt_embed) is not nn.Sequential:
        return False
    embed, decoder = list(model.tgt_embed), list(model.decoder.modules())
    return (
        [type(module) for module in embed] == [Embeddings, PositionalEncoding]
        and type(model.decoder) is Decoder
        and {type(module) for module in decoder} <= _KNOWN
        and not any(map(_is_special, [model, model.tgt_embed, *embed, *decoder]))
    )


def _is_special(module: nn.Module) -> bool:
    watched = module._forward_hooks or module._forward_pre_hooks
    replaced = {"decode", "forward"} & vars(module).keys()
    return module.training or bool(watched) or bool(replaced)


class CachedDecoder:
    """Some target rows under way, all equally long, each with its row of the memory.

    Args:
        model: one that `can_cache`.
        memory: (B, S, d_model), the encoder's output.
        src_mask: (B, 1, S), any dtype, 0 or False = hidden; None hides nothing.
    """

    def __init__(self, model: Any, memory: Tensor, src_mask: Tensor | None) -> None:
        self._model = model
        self._layers = [_CachedLayer(layer, memory) for layer in self._model.decoder.layers]
        self.device = memory.device
        self._src_mask = src_mask
        self._one_source = memory.size(0) == 1  # It serves any number of rows.
        self._length = 0

    def step(self, ids: Tensor) -> Tensor:
        """Append an id to each row.

        Args:
            ids: (R,), int64. R is B at first, or any number where B is 1.

        Returns:
            (R, vocab), the log-probabilities of the ids that may come next.

        Raises:
            ValueError: when the rows get longer than the table of positions.
        """
        embed, positions = self._model.tgt_embed
        x = positions(embed(ids.unsqueeze(1)), self._length)
        for layer in self._layers:
            x = layer.step(x, self._src_mask)
        self._length += 1
        log_probs: Tensor = self._model.generator(self._model.decoder.norm(x)[:, -1])
        return log_probs

    def select(self, rows: Tensor) -> None:
        """Go on with these rows only, (R,), int64, in this order; a row may occur repeatedly."""
        for layer in self._layers:
            layer.self_attn.select(rows)
            if not self._one_source:
                layer.src_attn.select(rows)
        if self._src_mask is not None and not self._one_source:
            self._src_mask = self._src_mask[rows]


class _CachedLayer:
    """A decoder layer that is given one position after the other."""

    def __init__(self, layer: Any, memory: Tensor) -> None:
        self.layer = layer
        self.self_attn = _CachedAttention(layer.self_attn)
        self.src_attn = _CachedAttention(layer.src_attn)
        self.src_attn.extend(memory)

    def step(self, x: Tensor, src_mask: Tensor | None) -> Tensor:
        """Map the new position (R, 1, size) to the same shape."""
        attend, consult, transform = self.layer.sublayer
        x = attend(x, self._look_back)
        x = consult(x, lambda query: self.src_attn(query, src_mask))
        out: Tensor = transform(x, self.layer.feed_forward)
        return out

    def _look_back(self, x: Tensor) -> Tensor:
        self.self_attn.extend(x)
        # All that is known lies in the past or is the position itself: nothing is to be hidden.
        return self.self_attn(x, None)


class _CachedAttention:
    """An attention layer and the keys and values it knows, (R, h, L, d_k)."""

    def __init__(self, layer: Any) -> None:
        self.layer = layer
        self.keys: Any = None
        self.values: Any = None

    def extend(self, x: Tensor) -> None:
        """Learn the keys and values of further positions (R, L, d_model)."""
        _, to_key, to_value, _ = self.layer.linears
        keys, values = self._split(to_key(x)), self._split(to_value(x))
        if self.keys is not None:
            keys = torch.cat((self.keys, keys), dim=2)
            values = torch.cat((self.values, values), dim=2)
        self.keys, self.values = keys, values

    def __call__(self, query: Tensor, mask: Tensor | None) -> Tensor:
        """Do what the layer does with the keys and values that are known."""
        to_query, _, _, to_output = self.layer.linears
        mask = None if mask is None else mask.unsqueeze(1)
        x, _ = attention(self._split(to_query(query)), self.keys, self.values, mask)
        out: Tensor = to_output(x.transpose(1, 2).flatten(-2))
        return out

    def select(self, rows: Tensor) -> None:
        if self.keys is not None:
            self.keys, self.values = self.keys[rows], self.values[rows]

    def _split(self, x: Tensor) -> Tensor:
        """Deal the features out to the heads: (R, L, d_model) -> (R, h, L, d_k)."""
        x = x.unflatten(-1, (self.layer.h, self.layer.d_k)).transpose(1, 2)
        return x.contiguous()  # Or it would be copied in every step that multiplies with it.
