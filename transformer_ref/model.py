"""Step 09, the reference: the whole model, put together and initialized (paper, section 3)."""

from torch import Tensor, nn

from .decoder import Decoder, DecoderLayer
from .embeddings import Embeddings, PositionalEncoding
from .encoder import Encoder, EncoderLayer
from .feed_forward import PositionwiseFeedForward
from .multi_head import MultiHeadedAttention

__all__ = ["EncoderDecoder", "Generator", "make_model"]


class EncoderDecoder(nn.Module):
    """An encoder and a decoder, with what turns ids into vectors and vectors into ids (figure 1).

    The generator is kept for whoever needs probabilities; no method here applies it.

    Args:
        encoder: called as encoder(x, src_mask).
        decoder: called as decoder(x, memory, src_mask, tgt_mask).
        src_embed: maps source ids (B, S) to (B, S, d_model).
        tgt_embed: maps target ids (B, T) to (B, T, d_model).
        generator: maps (..., d_model) to (..., tgt_vocab).
    """

    def __init__(
        self,
        encoder: nn.Module,
        decoder: nn.Module,
        src_embed: nn.Module,
        tgt_embed: nn.Module,
        generator: nn.Module,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.src_embed = src_embed
        self.tgt_embed = tgt_embed
        self.generator = generator

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None, tgt_mask: Tensor | None
    ) -> Tensor:
        """Encode the source, and decode the target with it.

        Args:
            src: (B, S), int32 or int64.
            tgt: (B, T), likewise.
            src_mask: (B, 1, S) or (B, S, S), any dtype, 0 or False = hidden; None hides nothing.
                The decoder's queries use it too, so (B, S, S) needs T = S.
            tgt_mask: (B, 1, T) or (B, T, T), likewise; it has to hide the future.

        Returns:
            The decoder's features (B, T, d_model), not yet log-probabilities.
        """
        return self.decode(self.encode(src, src_mask), src_mask, tgt, tgt_mask)

    def encode(self, src: Tensor, src_mask: Tensor | None) -> Tensor:
        """Turn source ids (B, S) into the memory (B, S, d_model)."""
        memory: Tensor = self.encoder(self.src_embed(src), src_mask)
        return memory

    def decode(
        self, memory: Tensor, src_mask: Tensor | None, tgt: Tensor, tgt_mask: Tensor | None
    ) -> Tensor:
        """Turn target ids (B, T) into features (B, T, d_model), looking at the memory."""
        out: Tensor = self.decoder(self.tgt_embed(tgt), memory, src_mask, tgt_mask)
        return out


class Generator(nn.Module):
    """A linear map to the vocabulary and a log-softmax over it (section 3.4).

    Args:
        d_model: the width of the input.
        vocab: the number of ids to choose from.
    """

    def __init__(self, d_model: int, vocab: int) -> None:
        super().__init__()
        self.proj = nn.Linear(d_model, vocab)

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., d_model) to log-probabilities (..., vocab), of the parameters' dtype."""
        out: Tensor = self.proj(x).log_softmax(dim=-1)
        return out


def make_model(
    src_vocab: int,
    tgt_vocab: int,
    N: int = 6,
    d_model: int = 512,
    d_ff: int = 2048,
    h: int = 8,
    dropout: float = 0.1,
) -> EncoderDecoder:
    """Build a model of its own pieces, no two of which share a parameter (the paper's base model).

    Parameters of 2 or more dims, embeddings among them, are Xavier-uniform (Glorot and Bengio,
    2010); biases and norms stay as their layers make them.

    Args:
        src_vocab: the number of source ids.
        tgt_vocab: the number of target ids.
        N: the number of layers in each stack.
        d_model: the width of the model.
        d_ff: the width of the feed-forward networks' hidden layers.
        h: the number of heads; it must divide d_model.
        dropout: the probability of dropping in train mode, wherever something is dropped: sums of
            embedding and position, attention weights, hidden units, and branches (section 5.4).

    Returns:
        The model, in train mode, of the default dtype and on the default device.

    Raises:
        ValueError: when h is below 1 or does not divide d_model, or d_model is below 2.
    """

    def attention_layer() -> MultiHeadedAttention:
        return MultiHeadedAttention(h, d_model, dropout)

    def feed_forward() -> PositionwiseFeedForward:
        return PositionwiseFeedForward(d_model, d_ff, dropout)

    def embed(vocab: int) -> nn.Sequential:
        return nn.Sequential(Embeddings(d_model, vocab), PositionalEncoding(d_model, dropout))

    encoder_layer = EncoderLayer(d_model, attention_layer(), feed_forward(), dropout)
    decoder_layer = DecoderLayer(
        d_model, attention_layer(), attention_layer(), feed_forward(), dropout
    )
    model = EncoderDecoder(
        Encoder(encoder_layer, N),
        Decoder(decoder_layer, N),
        embed(src_vocab),
        embed(tgt_vocab),
        Generator(d_model, tgt_vocab),
    )
    # Also what makes the copies of a layer start differently.
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    return model
