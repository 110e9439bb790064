import weakref, torch
class Scope:
    def __enter__(self):
        self.t = torch.ones(2)
        weakref.finalize(self.t, print, "tensor gone")
        return self.t
    def __exit__(self, *error):
        print("exit")
        del self.t
with Scope() as t:
    print("inside", t)
print("outside")
del t
print("end")
