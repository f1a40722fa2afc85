"""How a module is wired: what it hands to its recorders, and what it makes of their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from autograder.core.compare import kind_of
from autograder.core.draw import Draw
from autograder.core.observation import Value, see
from autograder.core.subject import Unusable
from autograder.wiring.drops import KNOWN
from autograder.wiring.formula import Sums, Told
from autograder.wiring.masks import same_mask
from autograder.wiring.recorder import Call, Record, own_parameters, parts_of
from autograder.wiring.slopes import connected, passes, steep

NEVER = "—"  # stands for a call that was not made

Tensors = Mapping[str, Tensor]
Build = Callable[[Record, float], Any]  # recorders' record, dropout -> module


def settled(module: Any, inputs: Tensors, draw: Draw) -> nn.Module:
    """The module in eval mode, called once (lazy layers), with moved parameters of its own.

    Raises:
        Unusable: it is no `nn.Module`.
    """
    if not isinstance(module, nn.Module):
        raise Unusable("not_module", kind=type(module).__name__)
    with torch.no_grad():
        module.eval()(*(t.clone() for t in inputs.values()))
    move(module, draw)
    return module


def move(module: nn.Module, draw: Draw) -> None:
    """Move every own parameter off its start, each number by another step of 0.1 to 0.3.

    Then no two norms can stand for each other. Steps go up and down in turn, so that the mean of a
    norm's gains stays near 1, and that of its biases near 0.
    """
    for i, p in enumerate(own_parameters(module)):
        turn = torch.arange(p.numel()).view(p.shape) % 2 * 2 - 1
        p.data.add_(draw.uniform(f"moved{i}", *p.shape, low=0.1, high=0.3) * turn)


class Layer:
    """One module around recorders, called once.

    `calls` are those of the recorders, `told` what their inputs are, `returned` what the output is.

    Args:
        module: the subject's layer.
        record: of the recorders that it was given.
        inputs: what it is called with, in order; the first is x.
        masks: those of the inputs that are masks.
        draw: see `Sums`.
    """

    def __init__(
        self, module: nn.Module, record: Record, inputs: Tensors, masks: Sequence[str], draw: Draw
    ) -> None:
        record.calls, record.shape = [], tuple(next(iter(inputs.values())).shape)
        handed = {n: t.clone() for n, t in inputs.items()}
        self.output = module(*handed.values())
        self.calls = list(record.calls)
        self.untouched = all(torch.equal(t, inputs[n]) for n, t in handed.items())
        self._sums = Sums(draw)
        self._masks = {n: inputs[n] for n in masks}
        self._norms: list[tuple[int, Tensor]] = []
        for name, value in inputs.items():
            if name not in masks:
                self._sums.add(name, value)
        self.told = [self._tell_call(i) for i in range(len(self.calls))]
        self.returned = self._tell(self.output, len(self.calls))

    @property
    def reused(self) -> list[str]:
        """Places where one normalization is met twice: '1 = 2' for the first call and the second.

        What is returned has the place after the last call.
        """
        pairs = ((one, two) for i, two in enumerate(self._norms) for one in self._norms[:i])
        same = (
            f"{i} = {j}"
            for (i, one), (j, two) in pairs
            if i != j and torch.allclose(one, two, 0.01)
        )
        return sorted(set(same))

    def written(self, parts: Sequence[str], arguments: int, which: slice = slice(None)) -> str:
        """The calls of any of these parts, with their first inputs; of those only `which`."""
        found = [
            f"{call.part}({', '.join(told[:arguments])})"
            for call, told in zip(self.calls, self.told, strict=True)
            if call.part in parts
        ]
        return "; ".join(found[which]) or NEVER

    def handed(self, part: str, argument: int) -> list[str]:
        """What the calls of this part had as that argument."""
        pairs = zip(self.calls, self.told, strict=True)
        return [told[argument] for call, told in pairs if call.part == part]

    def _tell_call(self, i: int) -> list[str]:
        call = self.calls[i]
        told: list[Told] = []
        values = list(call.inputs.values())
        for value in values:
            same = [t for v, t in zip(values, told, strict=False) if _equal(v, value)]
            told.append(same[0] if same else self._tell(value, i))
            if told[-1].norm is not None and not same:
                self._sums.add(told[-1].text, value, plain=False)
        earlier = sum(c.part == call.part for c in self.calls[:i])
        self._sums.add(f"{call.part} {earlier + 1}" if earlier else call.part, call.output)
        return [formula.text for formula in told]

    def _tell(self, value: Any, place: int) -> Told:
        told = tell(value, self._sums, self._masks)
        if told.norm is not None:
            self._norms.append((place + 1, told.norm))
        return told


def tell(value: Any, sums: Sums, masks: Tensors) -> Told:
    """What an input or a result is: a mask, a formula, or what it is instead of a tensor."""
    seen = see(value)
    if not isinstance(seen, Tensor):
        return Told(kind_of(seen))
    for name, mask in masks.items():
        if same_mask(seen, mask):
            return Told(name)
    if not seen.is_floating_point() or seen.dim() != 3:
        seen = seen.float()
    return sums.tell(seen)


def parameters(layer: Layer, module: nn.Module, parts: Sequence[str]) -> dict[str, Value]:
    """What the module owns: numbers of its own, norms that it uses twice, its parts."""
    own = own_parameters(module)
    registered = parts_of(module).values()
    return {
        "count": sum(p.numel() for p in own),
        "reused": layer.reused,
        "parts": [p for p in parts if p in registered],
        "size": size_of(module),
    }


def gradients(
    seen: Layer, module: nn.Module, record: Record, inputs: Tensors, along: Sequence[str]
) -> dict[str, Value]:
    """Whether gradients flow through all of the module; and then, whether they are right."""
    flows = seen.untouched and connected(module, record, inputs)
    right = flows and steep(module, record, inputs, along) == [*along]
    return {"connected": flows, "slopes": right and passes(module, record, inputs)}


def size_of(module: nn.Module) -> Value:
    """Its `.size`; None where it has none."""
    size = getattr(module, "size", None)
    return size if size is None or isinstance(size, int) else see(size)


def dropping(build: Build, inputs: Tensors, draw: Draw) -> dict[str, Value]:
    """Everything dropped in training, nothing dropped, and everything in eval mode.

    In eval mode nothing may be dropped. All is compared with the subject's own layer without
    dropout: what is left of the output is a formula of x and the recorders' results. So it plays
    no part how the layer is wired.
    """
    shape = next(iter(inputs.values())).shape
    records = {p: Record(draw, *shape) for p in (0.0, 1.0)}
    modules = {p: build(record, p) for p, record in records.items()}

    def run(p: float, training: bool, silent: bool = False) -> tuple[Any, list[Call]]:
        records[p].silent, records[p].calls = silent, []
        output = modules[p].train(training)(*(t.clone() for t in inputs.values()))
        return _first(output), records[p].calls

    found: dict[str, Value] = {}
    for name, p, training in KNOWN:
        asked, fed = run(0.0, False, silent=name == "all")
        (one, calls), (two, _) = run(p, training), run(p, training)
        repeats = _equal(one, two)
        found[f"{name}_repeats"] = repeats
        found[f"{name}_fed"] = repeats and fed_alike(calls[:1], fed[:1])
        found[f"{name}_left"] = NEVER
        if repeats or not isinstance(one, Tensor):
            found[f"{name}_left"] = _left(one, asked, [*fed, *calls], inputs, draw)
    return found


def _first(output: Any) -> Any:
    """What else is returned beside a tensor plays no part."""
    return output[0] if isinstance(output, tuple) and output else output


def fed_alike(one: Sequence[Call], two: Sequence[Call]) -> bool:
    """Whether calls have the same tensors as inputs."""
    inputs = ([v for call in calls for v in call.inputs.values()] for calls in (one, two))
    return all(near(a, b) for a, b in zip(*inputs, strict=False) if isinstance(a, Tensor))


def near(one: Tensor, two: Any) -> bool:
    return (
        isinstance(two, Tensor)
        and one.shape == two.shape
        and torch.allclose(one.float(), two.float(), atol=1e-5)
    )


def _equal(one: Any, two: Any) -> bool:
    return isinstance(one, Tensor) and isinstance(two, Tensor) and torch.equal(one, two)


def _left(one: Any, asked: Any, calls: Sequence[Call], inputs: Tensors, draw: Draw) -> str:
    if not isinstance(one, Tensor) or not isinstance(asked, Tensor) or one.shape != asked.shape:
        return kind_of(see(one))
    name, x = next(iter(inputs.items()))
    sums = Sums(draw)
    sums.add(name, x)
    for call in calls:
        sums.add(call.part, call.output)
    return sums.tell(one - asked).text
