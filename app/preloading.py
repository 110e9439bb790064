"""Imports, in the zygote, what a sealed child could not: it may name no file, so it can load nothing late.

Only for the profile `sealed`. The others load late what few programs need, and fork faster for it.
"""

import encodings
import importlib
import pkgutil
from contextlib import suppress

_OF_PYTHON = """
    abc argparse array ast base64 bisect bz2 calendar cmath codecs collections collections.abc colorsys
    concurrent.futures contextlib contextvars copy csv ctypes dataclasses datetime decimal difflib dis enum
    fractions functools gc getpass glob gzip hashlib heapq hmac html http.client inspect io ipaddress
    itertools json keyword linecache locale logging lzma math mmap multiprocessing multiprocessing.connection
    multiprocessing.pool multiprocessing.popen_fork multiprocessing.queues multiprocessing.reduction
    multiprocessing.shared_memory multiprocessing.synchronize
    numbers operator os pathlib pickle pickletools platform posixpath pprint queue random re reprlib
    resource sched secrets select selectors shelve shlex shutil signal socket sqlite3 ssl stat statistics
    string struct subprocess symtable sys tarfile tempfile textwrap threading time timeit token tokenize
    traceback tracemalloc types typing unicodedata unittest unittest.mock urllib.parse urllib.request uuid
    warnings weakref zipfile zlib zoneinfo
"""

_OF_OTHERS = """
    numpy numpy.fft numpy.linalg numpy.random numpy.testing typing_extensions
    torch.ao.quantization torch.autograd.functional torch.autograd.profiler torch.distributions torch.export
    torch.func torch.fx torch.fx.experimental.proxy_tensor torch.masked torch.nested torch.nn.attention
    torch.nn.utils.parametrizations torch.nn.utils.parametrize torch.nn.utils.prune torch.nn.utils.rnn
    torch.nn.utils.stateless torch.optim.lr_scheduler torch.optim.swa_utils torch.profiler torch.sparse
    torch.testing torch.utils.benchmark torch.utils.checkpoint torch.utils.data torch.utils.dlpack
    torch.utils.flop_counter torch.utils.serialization torch._dynamo.backends.debugging torch._strobelight
    torch.distributed.tensor.experimental torch.nested._internal.ops
    torch._functorch._activation_checkpointing.remat_using_tags_for_fwd_loss_bwd_graph_pass
    torch._export.passes.replace_autocast_with_hop_pass torch._export.passes.replace_set_grad_with_hop_pass
    torch._functorch._aot_autograd.subclass_parametrization torch.nn.attention.flex_attention
"""


def preload() -> None:
    """Import them; one that is not there, or does not load, is left out."""
    for name in (*_OF_PYTHON.split(), *_OF_OTHERS.split()):
        with suppress(Exception):
            importlib.import_module(name)
    # Each encoding is a module of its own, loaded when it is first named.
    for module in pkgutil.iter_modules(encodings.__path__, "encodings."):
        with suppress(Exception):
            importlib.import_module(module.name)
    with suppress(ImportError):
        from torch._inductor.compiler_bisector import CompilerBisector

        # Before it compiles, torch asks a file in its cache whether somebody looks for a fault of its own.
        CompilerBisector.in_process_cache = "/nonexistent"
