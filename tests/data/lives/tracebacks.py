import traceback, torch
try:
    torch.ones(2) @ torch.ones(3, 3, 3)[0, 0] @ torch.ones(2)
except RuntimeError:
    print(traceback.format_exc())
try:
    torch.nn.Linear(2, 2)(torch.ones(3))
except RuntimeError as e:
    print(len(traceback.extract_tb(e.__traceback__)))
try:
    torch.ones(3).view(2)
except RuntimeError as e:
    print(e.__traceback__.tb_next, e.__context__, e.__cause__)
    traceback.print_exc()
