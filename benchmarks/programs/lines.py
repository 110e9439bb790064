a = 0
for i in range(400):
    a = i + 1
    b = a * 2
    c = b - a
