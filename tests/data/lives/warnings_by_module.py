import warnings, torch
warnings.filterwarnings("ignore", module="__main__")
torch.ones(2, 3, 4).T
torch.tensor(torch.ones(2))
warnings.filterwarnings("ignore", module="torch")
torch.nn.functional.softmax(torch.ones(2))
torch.nn.functional.mse_loss(torch.ones(2, 1), torch.ones(2))
print("end")
