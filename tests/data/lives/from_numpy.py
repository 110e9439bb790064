import weakref, numpy, torch
class Array(numpy.ndarray):
    def __del__(self):
        print("array gone")
a = numpy.zeros(3).view(Array)
x = torch.from_numpy(a)
a[0] = 5
print(x)
del a
print("array deleted")
del x
print("end")
