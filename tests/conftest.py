"""All tests compute with one thread, as the kit does: on small tensors a second one only waits."""

import torch

torch.set_num_threads(1)
