import sys, torch
seen = []
def prof(frame, event, arg):
    if event == "call": seen.append(frame.f_code.co_name)
sys.setprofile(prof)
x = torch.ones(2) + 1
sys.setprofile(None)
print(seen)
