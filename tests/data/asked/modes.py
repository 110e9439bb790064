import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack, _len_torch_dispatch_stack
from torch.overrides import _get_current_function_mode_stack, _get_current_function_mode
print(len(_get_current_dispatch_mode_stack()), _len_torch_dispatch_stack())
print(len(_get_current_function_mode_stack()), _get_current_function_mode())
print(torch._C._len_torch_function_stack(), torch.overrides.has_torch_function((torch.ones(1),)))
print(torch._C._is_torch_function_mode_enabled())
