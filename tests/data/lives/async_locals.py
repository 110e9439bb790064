import asyncio, weakref, torch
async def f(i):
    t = torch.ones(2) * i
    weakref.finalize(t, print, i, "gone")
    await asyncio.sleep(0)
    print("resumed", i)
    return t.sum().item()
async def main():
    print([await f(1), await f(2)])
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
loop.close()
print("end")
