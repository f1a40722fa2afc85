"""Step 09: the whole model. Fill in the bodies, then run `pytest exercises/step09`.

All the parts exist. This step joins them: words become vectors, the encoder reads, the decoder
writes, and a last layer says how likely each word of the dictionary is to come next.

Paper: "Attention Is All You Need", sections 3.1 and 3.4, figure 1; table 3 (base) for the sizes.
"""

import torch
from torch import nn

from transformer_ref import (
    Decoder,
    DecoderLayer,
    Embeddings,
    Encoder,
    EncoderLayer,
    MultiHeadedAttention,
    PositionalEncoding,
    PositionwiseFeedForward,
)


class EncoderDecoder(nn.Module):
    """A frame that holds the five parts of a translator and sends sentences through them.

    The parts are kept as `.encoder`, `.decoder`, `.src_embed`, `.tgt_embed` and `.generator`.
    Whoever calculates a loss or looks for the next word calls `model.generator` on what `forward`
    or `decode` returned; they do not call it themselves.
    """

    def __init__(
        self,
        encoder: nn.Module,
        decoder: nn.Module,
        src_embed: nn.Module,
        tgt_embed: nn.Module,
        generator: nn.Module,
    ) -> None:
        """Take the parts.

        Args:
            encoder: called as `encoder(x, src_mask)`.
            decoder: called as `decoder(x, memory, src_mask, tgt_mask)`.
            src_embed: from source ids (B, S) to vectors (B, S, d_model).
            tgt_embed: from target ids (B, T) to vectors (B, T, d_model).
            generator: from features (..., d_model) to log-probabilities (..., tgt_vocab).
        """
        super().__init__()
        raise NotImplementedError("step 09: EncoderDecoder.__init__ is not implemented yet")

    def forward(
        self,
        src: torch.Tensor,
        tgt: torch.Tensor,
        src_mask: torch.Tensor | None,
        tgt_mask: torch.Tensor | None,
    ) -> torch.Tensor:
        """Read the source, then go through the target.

        Args:
            src: (B, S), int64 ids, batch first.
            tgt: (B, T), int64 ids.
            src_mask: (B, 1, S), True or 1 = may look.
            tgt_mask: (B, T, T) or (1, T, T), likewise.

        Returns:
            Features, (B, T, d_model). Not log-probabilities: the generator is not applied here.
        """
        raise NotImplementedError("step 09: EncoderDecoder.forward is not implemented yet")

    def encode(self, src: torch.Tensor, src_mask: torch.Tensor | None) -> torch.Tensor:
        """Turn the source (B, S) into the memory (B, S, d_model)."""
        raise NotImplementedError("step 09: EncoderDecoder.encode is not implemented yet")

    def decode(
        self,
        memory: torch.Tensor,
        src_mask: torch.Tensor | None,
        tgt: torch.Tensor,
        tgt_mask: torch.Tensor | None,
    ) -> torch.Tensor:
        """Turn memory (B, S, d_model) and target (B, T) into features (B, T, d_model).

        Mind the order of the arguments: what belongs to the source first, each followed by its
        mask.
        """
        raise NotImplementedError("step 09: EncoderDecoder.decode is not implemented yet")


class Generator(nn.Module):
    """From features to log-probabilities: log-softmax(x W + b), over the dictionary."""

    def __init__(self, d_model: int, vocab: int) -> None:
        """Make the linear layer, with a bias.

        Args:
            d_model: width of the features.
            vocab: how many different tokens the target language has.
        """
        super().__init__()
        raise NotImplementedError("step 09: Generator.__init__ is not implemented yet")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Say how likely each token is.

        Args:
            x: (..., d_model), float; in training (B, T, d_model), in decoding also (B, d_model).

        Returns:
            (..., vocab): *log*-probabilities. exp() of a row sums to 1.
        """
        raise NotImplementedError("step 09: Generator.forward is not implemented yet")


def make_model(
    src_vocab: int,
    tgt_vocab: int,
    N: int = 6,
    d_model: int = 512,
    d_ff: int = 2048,
    h: int = 8,
    dropout: float = 0.1,
) -> EncoderDecoder:
    """Build a whole Transformer, ready to be trained.

    Args:
        src_vocab: how many tokens the source language has.
        tgt_vocab: how many tokens the target language has.
        N: layers in the encoder, and as many in the decoder.
        d_model: width of all vectors between the layers.
        d_ff: hidden width of the feed-forward networks.
        h: heads of each attention.
        dropout: the one rate for every dropout in the model, those of the attentions included.

    Returns:
        An `EncoderDecoder`. No two of its parts share a parameter: each layer has its own
        attentions (one in the encoder, two in the decoder) and its own feed-forward network, and
        the embeddings and the generator have three matrices. An embedding is followed by the
        positions, `PositionalEncoding(d_model, dropout)`.

        Every parameter of two or more dimensions is initialized with `nn.init.xavier_uniform_`,
        the embeddings too. The others (biases, and the gains of the norms) stay as they are.
    """
    raise NotImplementedError("step 09: make_model is not implemented yet")
