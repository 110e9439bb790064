import warnings, torch
warnings.filterwarnings("error", category=UserWarning)
try:
    torch.ones(2, 3, 4).T
except UserWarning as e:
    print("raised", str(e)[:30])
try:
    torch.nn.functional.mse_loss(torch.ones(2, 1), torch.ones(2))
except UserWarning as e:
    print("raised", str(e)[:30])
