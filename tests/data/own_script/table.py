"""Reads the CSV file; lies beside the script."""

import csv

import torch
from torch.utils.data import Dataset


def read_table(path):
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    numbers = torch.tensor([[float(cell) for cell in row[:-1]] for row in rows[1:]])
    kinds = sorted({row[-1] for row in rows[1:]})
    labels = torch.tensor([kinds.index(row[-1]) for row in rows[1:]])
    return numbers, labels, kinds


class Table(Dataset):
    def __init__(self, numbers, labels):
        self.numbers = numbers
        self.labels = labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.numbers[i], self.labels[i]
