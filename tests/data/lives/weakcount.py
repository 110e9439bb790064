import weakref, torch
x = torch.ones(2)
print(weakref.getweakrefcount(x), len(weakref.getweakrefs(x)))
