import warnings, torch
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    torch.nn.functional.mse_loss(torch.ones(2, 1), torch.ones(2))
    torch.ones(2, 3, 4).T
    torch.meshgrid(torch.ones(2), torch.ones(2))
    torch.range(0, 3)
    torch.tensor(torch.ones(2))
print([(w.category.__name__, w.lineno, w.filename.rpartition("/")[2]) for w in caught])
