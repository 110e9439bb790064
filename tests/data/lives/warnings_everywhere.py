import warnings, torch
def f(x):
    return x.mean(dim=0).T if x.dim() == 1 else x
torch.ones(2, 3, 4).T
warnings.warn("mine")
for i in range(2):
    warnings.warn("in a loop", DeprecationWarning)
torch.nn.functional.mse_loss(torch.ones(2, 1), torch.ones(2))
torch.nn.functional.softmax(torch.ones(2))
a = torch.tensor(torch.ones(2))
torch.meshgrid(torch.ones(2), torch.ones(2))
torch.range(0, 3)
x = torch.ones(2, requires_grad=True)
y = x * 2
y.grad
torch.optim.lr_scheduler.StepLR(torch.optim.SGD([x], lr=1), 1).step()
