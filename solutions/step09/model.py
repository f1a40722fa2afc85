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
        ### BEGIN SOLUTION
        self.encoder = encoder
        self.decoder = decoder
        self.src_embed = src_embed
        self.tgt_embed = tgt_embed
        self.generator = generator
        ### END SOLUTION

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
        ### BEGIN SOLUTION
        memory = self.encode(src, src_mask)
        return self.decode(memory, src_mask, tgt, tgt_mask)
        ### END SOLUTION

    def encode(self, src: torch.Tensor, src_mask: torch.Tensor | None) -> torch.Tensor:
        """Turn the source (B, S) into the memory (B, S, d_model)."""
        ### BEGIN SOLUTION
        vectors = self.src_embed(src)
        return self.encoder(vectors, src_mask)
        ### END SOLUTION

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
        ### BEGIN SOLUTION
        vectors = self.tgt_embed(tgt)
        return self.decoder(vectors, memory, src_mask, tgt_mask)
        ### END SOLUTION


class Generator(nn.Module):
    """From features to log-probabilities: log-softmax(x W + b), over the dictionary."""

    def __init__(self, d_model: int, vocab: int) -> None:
        """Make the linear layer, with a bias.

        Args:
            d_model: width of the features.
            vocab: how many different tokens the target language has.
        """
        super().__init__()
        ### BEGIN SOLUTION
        self.proj = nn.Linear(d_model, vocab)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Say how likely each token is.

        Args:
            x: (..., d_model), float; in training (B, T, d_model), in decoding also (B, d_model).

        Returns:
            (..., vocab): *log*-probabilities. exp() of a row sums to 1.
        """
        ### BEGIN SOLUTION
        scores = self.proj(x)

        # The tokens compete with each other: they are the last dimension.
        return scores.log_softmax(dim=-1)
        ### END SOLUTION


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
    ### BEGIN SOLUTION
    # Three attentions and two networks, each an object of its own. (The stacks copy whole layers.)
    encoder_self_attn = MultiHeadedAttention(h, d_model, dropout)
    decoder_self_attn = MultiHeadedAttention(h, d_model, dropout)
    decoder_src_attn = MultiHeadedAttention(h, d_model, dropout)
    encoder_feed_forward = PositionwiseFeedForward(d_model, d_ff, dropout)
    decoder_feed_forward = PositionwiseFeedForward(d_model, d_ff, dropout)

    encoder_layer = EncoderLayer(
        d_model,
        encoder_self_attn,
        encoder_feed_forward,
        dropout,
    )
    decoder_layer = DecoderLayer(
        d_model,
        decoder_self_attn,
        decoder_src_attn,
        decoder_feed_forward,
        dropout,
    )

    # The source has its dictionary; the target has another, for what comes in and what goes out.
    src_words = Embeddings(d_model, src_vocab)
    tgt_words = Embeddings(d_model, tgt_vocab)
    src_positions = PositionalEncoding(d_model, dropout)
    tgt_positions = PositionalEncoding(d_model, dropout)

    model = EncoderDecoder(
        encoder=Encoder(encoder_layer, N),
        decoder=Decoder(decoder_layer, N),
        src_embed=nn.Sequential(src_words, src_positions),
        tgt_embed=nn.Sequential(tgt_words, tgt_positions),
        generator=Generator(d_model, tgt_vocab),
    )

    # Last, when every part is in its place. The copies in a stack were equal; now they part.
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    return model
    ### END SOLUTION
