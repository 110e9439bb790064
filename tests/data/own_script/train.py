#!/usr/bin/env python3
"""Trains a small classifier on a CSV file and saves the best checkpoint.

    python train.py flowers.csv --epochs 6 --out runs
"""

import argparse
import json
import logging
import os
import sys
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader

from pieces.network import Network
from table import Table, read_table

log = logging.getLogger("train")


@dataclass
class Config:
    epochs: int
    batch: int
    width: int
    lr: float
    patience: int
    clip: float
    workers: int


def parse(argv=None):
    parser = argparse.ArgumentParser(prog="train.py")
    parser.add_argument("data", type=Path)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--width", type=int, default=12)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--patience", type=int, default=3)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path("runs"))
    return parser.parse_args(argv)


def split(numbers, labels, share=0.75):
    """A shuffled training part and a validation part."""
    order = torch.randperm(len(labels))
    cut = int(share * len(labels))
    first, second = order[:cut], order[cut:]
    return (numbers[first], labels[first]), (numbers[second], labels[second])


class Scaler:
    """Means and deviations of the training part, kept with the checkpoint."""

    def __init__(self, numbers):
        self.mean = numbers.mean(0)
        self.deviation = numbers.std(0).clamp_min(1e-6)

    def __call__(self, numbers):
        return (numbers - self.mean) / self.deviation

    def state_dict(self):
        return {"mean": self.mean, "deviation": self.deviation}


class EarlyStop:
    """Says when the loss has not fallen for a while; keeps a copy of the best weights."""

    def __init__(self, patience):
        self.patience = patience
        self.best = float("inf")
        self.weights = None
        self.waited = 0

    def update(self, loss, model):
        if loss < self.best - 1e-4:
            self.best, self.waited = loss, 0
            self.weights = {k: v.detach().clone() for k, v in model.state_dict().items()}
            return False
        self.waited += 1
        return self.waited >= self.patience


def train_epoch(model, loader, optimizer, criterion, clip):
    model.train()
    total, seen = 0.0, 0
    for x, y in loader:
        optimizer.zero_grad(set_to_none=True)
        logits = model(x)
        loss = criterion(logits, y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
        if not torch.isfinite(norm):
            log.warning("a gradient is not finite; the step is left out")
            continue
        optimizer.step()
        total += loss.item() * len(y)
        seen += len(y)
    return total / seen


@torch.no_grad()
def evaluate(model, numbers, labels, criterion):
    model.eval()
    logits = model(numbers)
    loss = criterion(logits, labels).item()
    right = (logits.argmax(1) == labels).float().mean().item()
    return loss, right


def confusion(model, numbers, labels, kinds):
    """How often each kind was taken for which."""
    counts = torch.zeros(len(kinds), len(kinds), dtype=torch.long)
    with torch.no_grad():
        guesses = model(numbers).argmax(1)
    for truth, guess in zip(labels.tolist(), guesses.tolist()):
        counts[truth, guess] += 1
    return counts


def save(path, model, optimizer, scaler, config, epoch):
    torch.save(
        {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scaler": scaler.state_dict(),
            "config": asdict(config),
            "epoch": epoch,
        },
        path,
    )


def load_again(path, network):
    checkpoint = torch.load(path)
    network.load_state_dict(checkpoint["model"])
    return checkpoint["epoch"]


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(name)s %(levelname)s %(message)s")
    torch.manual_seed(args.seed)
    config = Config(
        args.epochs, args.batch, args.width, args.lr, args.patience, args.clip, args.workers
    )
    numbers, labels, kinds = read_table(args.data)
    print(f"{len(labels)} rows, {numbers.shape[1]} columns, kinds: {', '.join(kinds)}")

    (train_x, train_y), (valid_x, valid_y) = split(numbers, labels)
    scaler = Scaler(train_x)
    train_x, valid_x = scaler(train_x), scaler(valid_x)
    loader = DataLoader(
        Table(train_x, train_y), batch_size=config.batch, shuffle=True, num_workers=config.workers
    )

    model = Network(numbers.shape[1], config.width, len(kinds))
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.lr, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=config.epochs)
    criterion = nn.CrossEntropyLoss()
    stop = EarlyStop(config.patience)

    args.out.mkdir(parents=True, exist_ok=True)
    history = []
    for epoch in range(1, config.epochs + 1):
        loss = train_epoch(model, loader, optimizer, criterion, config.clip)
        schedule.step()
        valid_loss, right = evaluate(model, valid_x, valid_y, criterion)
        history.append({"epoch": epoch, "train": loss, "valid": valid_loss, "right": right})
        print(f"epoch {epoch}: train {loss:.6f} valid {valid_loss:.6f} right {right:.4f}")
        if stop.update(valid_loss, model):
            log.info("no better for %d epochs: stopped", stop.waited)
            break

    model.load_state_dict(stop.weights)
    save(args.out / "best.pt", model, optimizer, scaler, config, epoch)
    fresh = Network(numbers.shape[1], config.width, len(kinds))
    epoch = load_again(args.out / "best.pt", fresh)
    fresh.eval()
    counts = confusion(fresh, valid_x, valid_y, kinds)
    print(f"best of {epoch} epochs: {stop.best:.6f}")
    for kind, row in zip(kinds, counts.tolist()):
        print(f"{kind:>8}", *(f"{n:4d}" for n in row))
    (args.out / "history.json").write_text(json.dumps(history, indent=1))
    if counts.diagonal().sum() < counts.sum():
        warnings.warn("some flowers are taken for others", stacklevel=2)
    print(os.path.basename(__file__), sys.argv[1:], __name__, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
