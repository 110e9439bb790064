"""Programs train on a simulated device, and end with the same numbers as on the CPU, bit for bit."""

import pytest

from .running import run

LAYERS = {
    "linear": "nn.Linear(6, 3)",
    "convolution": "nn.Sequential(nn.Unflatten(1, (1, 6)), nn.Conv1d(1, 4, 3), nn.ReLU(), nn.Flatten(), "
    "nn.Linear(16, 3))",
    "convolution in two dimensions": "nn.Sequential(nn.Unflatten(1, (1, 2, 3)), nn.Conv2d(1, 2, 2), "
    "nn.MaxPool2d((1, 2)), nn.Flatten(), nn.Linear(2, 3))",
    "batch normalization": "nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))",
    "layer normalization": "nn.Sequential(nn.Linear(6, 4), nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 3))",
    "group normalization": "nn.Sequential(nn.Linear(6, 4), nn.GroupNorm(2, 4), nn.Linear(4, 3))",
    "embedding": "Bag()",
    "LSTM": "Recurrent(nn.LSTM)",
    "GRU": "Recurrent(nn.GRU)",
    "RNN": "Recurrent(nn.RNN)",
    "attention": "Attention()",
    "transformer layer": "nn.Sequential(nn.Unflatten(1, (3, 2)), "
    "nn.TransformerEncoderLayer(2, 1, 4, dropout=0.0, batch_first=True), nn.Flatten(), nn.Linear(6, 3))",
}
OPTIMIZERS = {
    "SGD": "torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)",
    "Adam": "torch.optim.Adam(model.parameters(), lr=0.01)",
    "AdamW": "torch.optim.AdamW(model.parameters(), lr=0.01)",
    "RMSprop": "torch.optim.RMSprop(model.parameters(), lr=0.01)",
}
PROGRAM = """
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.cell, self.head = kind(2, 4, batch_first=True), nn.Linear(4, 3)
    def forward(self, x):
        return self.head(self.cell(x.view(-1, 3, 2))[0][:, -1])

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attend, self.head = nn.MultiheadAttention(2, 1, batch_first=True), nn.Linear(6, 3)
    def forward(self, x):
        x = x.view(-1, 3, 2)
        return self.head(self.attend(x, x, x)[0].flatten(1))

class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(5, 4), nn.Linear(4, 3)
    def forward(self, x):
        return self.head(self.table(x.abs().long().clamp(max=4)).mean(1))

model = {layer}.to({device!r})
optimizer = {optimizer}
batches = DataLoader(TensorDataset(torch.randn(8, 6), torch.randint(0, 3, (8,))), batch_size=4, shuffle=True)
losses = []
for epoch in range(2):
    for x, y in batches:
        x, y = x.to({device!r}, non_blocking=True), y.to({device!r})
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(losses)
print([p.detach().cpu().double().flatten().tolist() for p in model.parameters()])
print({{p.device.type for p in model.parameters()}} | {{p.grad.device.type for p in model.parameters()}})
"""


def trained(layer: str, optimizer: str, device: str) -> list[str]:
    ran = run(PROGRAM.format(layer=layer, optimizer=optimizer, device=device), compare=device != "cpu")
    assert ran.error is None
    *numbers, devices = ran.printed
    assert devices == f"{{'{device}'}}"
    return numbers


@pytest.mark.parametrize("layer", LAYERS)
def test_each_kind_of_layer_learns_the_same_numbers_as_on_the_cpu(layer: str) -> None:
    made = LAYERS[layer]

    assert trained(made, OPTIMIZERS["SGD"], "cuda") == trained(made, OPTIMIZERS["SGD"], "cpu")


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_each_optimizer_takes_the_same_steps_as_on_the_cpu(optimizer: str) -> None:
    made = LAYERS["linear"]

    assert trained(made, OPTIMIZERS[optimizer], "cuda") == trained(made, OPTIMIZERS[optimizer], "cpu")


def test_mixed_precision_scales_its_loss_and_trains() -> None:
    ran = run(
        """
        model = torch.nn.Linear(4, 2).cuda()
        optimizer = torch.optim.AdamW(model.parameters())
        scaler = torch.amp.GradScaler("cuda")
        x = torch.randn(8, 4, device="cuda")
        before = model.weight.detach().clone()
        with torch.autocast("cuda"):
            out = model(x)
            print(out.dtype, torch.is_autocast_enabled("cuda"), torch.is_autocast_enabled("cpu"))
        scaler.scale(out.float().pow(2).mean()).backward()
        scaler.step(optimizer)
        scaler.update()
        print(torch.equal(before, model.weight), scaler.get_scale())
        with torch.autocast("cuda", dtype=torch.bfloat16):
            print((x @ x.t()).dtype)
        print((x @ x.t()).dtype, torch.get_autocast_dtype("cpu"))
        """
    )

    assert ran.printed == [
        "torch.float16 True False",
        "False 65536.0",
        "torch.bfloat16",
        "torch.float32 torch.bfloat16",
    ]


def test_gradients_cross_devices_and_stay_where_their_tensors_are() -> None:
    ran = run(
        """
        x = torch.ones(3, requires_grad=True)
        w = torch.ones(3, device="cuda", requires_grad=True)
        y = x.cuda()
        z = (w * y).cpu()
        z.sum().backward()
        print(type(y.grad_fn).__name__, type(z.grad_fn).__name__, y.is_leaf)
        print(x.grad, w.grad)
        held = torch.zeros(3, device="cuda")
        held.copy_(x)
        (held * 2).sum().backward()
        print(x.grad, x.grad.device)
        (g,) = torch.autograd.grad((x.cuda() ** 3).sum(), x, create_graph=True)
        g.sum().backward()
        print(g.device, x.grad)
        """
    )

    assert ran.printed == [
        "ToCopyBackward0 ToCopyBackward0 False",
        "tensor([1., 1., 1.]) tensor([1., 1., 1.], device='cuda:0')",
        "tensor([3., 3., 3.]) cpu",
        "cpu tensor([9., 9., 9.])",
    ]


def test_a_model_keeps_its_parameters_and_replaces_its_buffers() -> None:
    ran = run(
        """
        norm = torch.nn.BatchNorm1d(2)
        weight, mean = norm.weight, norm.running_mean
        norm.cuda()
        print(norm.weight is weight, weight.device, norm.running_mean is mean, mean.device, weight.is_leaf)
        """
    )

    assert ran.printed == ["True cuda:0 False cpu True"]


def test_a_packed_batch_of_unequal_lengths_trains_with_its_lengths_on_the_cpu() -> None:
    ran = run(
        """
        from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
        x = pack_padded_sequence(torch.randn(2, 3, 4).cuda(), torch.tensor([3, 2]), batch_first=True)
        for layer in (torch.nn.LSTM(4, 5).cuda(), torch.nn.GRU(4, 5).cuda()):
            out, lengths = pad_packed_sequence(layer(x)[0])
            out.sum().backward()
            print(out.device, lengths.device, layer.weight_ih_l0.grad.device)
        """
    )

    assert ran.printed == ["cuda:0 cpu cuda:0"] * 2


def test_a_kernel_in_python_counts_its_writes_on_the_device_watched_or_not() -> None:
    ran = run(
        """
        library = torch.library.Library("far", "FRAGMENT")
        library.define("twice_(Tensor(a!) x) -> ()")
        def twice_(x):
            x.add_(1)
            x.mul_(2)
        library.impl("twice_", twice_, "CPU")
        x = torch.ones(3, device="cuda")
        torch.ops.far.twice_(x)
        p = torch.nn.utils.rnn.pad_sequence([x, x[:1]])
        print(x.tolist(), x._version, p._version, p.device)
        """
    )

    assert ran.printed == ["[4.0, 4.0, 4.0] 2 3 cuda:0"]
