import threading, weakref, torch
done = []
def work():
    t = torch.ones(2) * 2
    weakref.finalize(t, done.append, "gone")
    done.append("made")
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(done)
