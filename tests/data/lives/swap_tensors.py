import torch
a, b = torch.ones(2), torch.zeros(3)
torch.utils.swap_tensors(a, b)
print(a, b)
m = torch.nn.Linear(2, 2)
torch.__future__.set_swap_module_params_on_conversion(True)
m.double()
print(m.weight.dtype)
