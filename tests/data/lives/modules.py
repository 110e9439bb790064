import sys, torch
print(len(sys.modules))
print([m for m in sorted(sys.modules) if "tensor_anatomy" in m][:3])
