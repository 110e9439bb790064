"""How each class of error is recognised: by what PyTorch 2.13 says.

A table and nothing else. The first rule that fits wins, so the narrower of two stands first. Which
tensors and lines a class concerns is in `operands`, its words are in the catalogues.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from ..schema import Layer
from .advice import Advice
from .failure import FailedCall
from .operands import ADVICE

Judge = Callable[[FailedCall], Advice]


PYTHONS_OWN = frozenset({"RecursionError", "NameError", "KeyError", "EOFError", "ZeroDivisionError"})
"""Never PyTorch's, whatever their text says."""


@dataclass(frozen=True)
class Rule:
    """How a class of error is recognised."""

    name: str
    pattern: re.Pattern[str]
    layer: Layer | None
    judge: Judge = field(repr=False)


def _rule(name: str, layer: Layer | None, pattern: str) -> Rule:
    return Rule(name, re.compile(pattern, re.DOTALL), layer, ADVICE.get(name, ADVICE[""]))


RULES: tuple[Rule, ...] = (
    _rule(
        "saved-tensor-modified",
        "autograd",
        r"modified by an inplace operation: \[.*?\](?:, which is output \d+ of (?P<node>\w+?)0?,)? "
        r"is at version (?P<version>\d+); expected version (?P<expected>\d+)",
    ),
    _rule("saved-tensor-modified-by-hook", "autograd", r"saved tensor pack hook is modifying its input"),
    _rule("view-stride", "metadata", r"view size is not compatible with input tensor's size and stride"),
    _rule(
        "view-size", "metadata", r"shape '(?P<wanted>\[[^\]]*\])' is invalid for input of size (?P<size>\d+)"
    ),
    _rule(
        "overlapping-write",
        "data",
        r"more than one element of the written-to tensor refers to a single memory location",
    ),
    _rule("overlapping-write-source", "data", r"some elements of the input tensor and the written-to tensor"),
    _rule(
        "leaf-in-place",
        "autograd",
        r"a (?P<view>view of a )?leaf Variable that requires grad is being used in an in-place operation",
    ),
    _rule("backward-twice", "autograd", r"Trying to backward through the graph a second time"),
    _rule(
        "no-graph", "autograd", r"element \d+ of tensors does not require grad and does not have a grad_fn"
    ),
    _rule("backward-non-scalar", "autograd", r"grad can be implicitly created only for scalar outputs"),
    _rule("unused-in-graph", "autograd", r"appears to not have been used in the graph"),
    _rule(
        "integer-requires-grad", "autograd", r"[Oo]nly Tensors of floating point (?:and complex )?dtype can"
    ),
    _rule("integer-requires-grad", "autograd", r"only Tensors of floating point dtype can require gradients"),
    _rule("requires-grad-non-leaf", "autograd", r"you can only change requires_grad flags of leaf variables"),
    _rule("detach-view", "autograd", r"Can't detach views in-place"),
    _rule("deepcopy-non-leaf", "autograd", r"Only Tensors created explicitly by the user.* deepcopy"),
    _rule("no-grad-view", "autograd", r"A view was created in no_grad mode and is being modified inplace"),
    _rule(
        "inference-tensor",
        "autograd",
        r"Inference tensors? (?:cannot be|do not track)|Inplace update to inference tensor|"
        r"Setting requires_grad=True on inference tensor",
    ),
    _rule("multi-output-view", "autograd", r"output of a function that returns multiple views"),
    _rule("numpy-requires-grad", "autograd", r"Can't call numpy\(\) on Tensor that requires grad"),
    _rule("vmap-in-place", "data", r"vmap: inplace arithmetic"),
    _rule("vmap-item", "data", r"vmap: It looks like you're calling \.item\(\)"),
    _rule(
        "matmul-shape",
        "metadata",
        r"mat1 and mat2 shapes cannot be multiplied \((?P<left>\d+x(?P<inner_left>\d+)) and "
        r"(?P<right>(?P<inner_right>\d+)x\d+)\)",
    ),
    _rule(
        "matmul-shape",
        "metadata",
        r"size mismatch, got input \(\d+\), mat \((?P<left>\d+x(?P<inner_left>\d+))\), "
        r"vec \((?P<right>(?P<inner_right>\d+))\)",
    ),
    _rule(
        "matmul-shape",
        "metadata",
        r"inconsistent tensor size, expected tensor \[(?P<left>(?P<inner_left>\d+))\] and src "
        r"\[(?P<right>(?P<inner_right>\d+))\]",
    ),
    _rule(
        "bmm-shape",
        "metadata",
        r"Expected size for first two dimensions of batch2 tensor to be: \[(?P<want>[^\]]*)\] "
        r"but got: \[(?P<got>[^\]]*)\]",
    ),
    _rule(
        "broadcast-shape",
        "metadata",
        r"size of tensor a \((?P<a>\d+)\) must match the size of tensor b \((?P<b>\d+)\) "
        r"at non-singleton dimension (?P<dim>\d+)",
    ),
    _rule(
        "in-place-shape",
        "metadata",
        r"output with shape \[(?P<kept>[^\]]*)\] doesn't match the broadcast shape \[(?P<result>[^\]]*)\]",
    ),
    _rule(
        "expand-shape",
        "metadata",
        r"expanded size of the tensor \((?P<want>\d+)\) must match the existing size \((?P<got>\d+)\) "
        r"at non-singleton dimension (?P<dim>\d+)(?:\.\s+Target sizes: (?P<target>\[[^\]]*\])\.\s+"
        r"Tensor sizes: (?P<sizes>\[[^\]]*\]))?",
    ),
    _rule("cat-shape", "metadata", r"Sizes of tensors must match except in dimension (?P<dim>\d+)"),
    _rule("cat-shape", "metadata", r"Tensors must have same number of dimensions(?P<dim>)"),
    _rule("cat-shape", "metadata", r"stack expects each tensor to be equal size(?P<dim>)"),
    _rule(
        "channels-shape",
        "metadata",
        r"to have (?P<want>\d+) channels, but got (?P<got>\d+) channels instead",
    ),
    _rule(
        "batch-size",
        "metadata",
        r"Expected input batch_size \((?P<input>\d+)\) to match target batch_size \((?P<target>\d+)\)",
    ),
    _rule("target-out-of-range", "data", r"Target (?P<target>-?\d+) is out of bounds"),
    _rule(
        "dim-out-of-range",
        "metadata",
        r"Dimension out of range \(expected to be in range of \[(?P<low>-?\d+), (?P<high>-?\d+)\], "
        r"but got (?P<got>-?\d+)\)",
    ),
    _rule(
        "index-out-of-range",
        "metadata",
        r"index (?P<index>-?\d+) is out of bounds for dimension (?P<dim>\d+) with size (?P<size>\d+)",
    ),
    _rule(
        "index-out-of-range",
        "metadata",
        r"(?:index|Index) out of range in self(?P<index>)(?P<dim>)(?P<size>)",
    ),
    _rule("too-many-indices", "metadata", r"too many indices for tensor of dimension (?P<dim>\d+)"),
    _rule(
        "dtype-cast",
        "metadata",
        r"result type (?P<found>\w+) can't be cast to the desired output type (?P<wanted>\w+)",
    ),
    _rule(
        "dtype-mismatch",
        "metadata",
        r"expected (?:target )?(?:scalar type|dtype to be) (?P<wanted>[\w ]+?),? "
        r"but (?:found|got) (?P<found>\w+)",
    ),
    _rule(
        "dtype-mismatch",
        "metadata",
        r"expected m1 and m2 to have the same dtype, but got: (?:c10::)?(?P<wanted>[\w ]+) != "
        r"(?:c10::)?(?P<found>[\w ]+)",
    ),
    _rule(
        "dtype-mismatch",
        "metadata",
        r"must have the same dtype, but got (?P<wanted>\w+)(?:, \w+,)? and (?P<found>\w+)",
    ),
    _rule(
        "dtype-mismatch",
        "metadata",
        r"expected both (?:vectors|tensors|inputs) to have same dtype, "
        r"but found (?P<wanted>\w+) and (?P<found>\w+)",
    ),
    _rule(
        "dtype-mismatch",
        "metadata",
        r"Index put requires the source and destination dtypes match, "
        r"got (?P<wanted>\w+) .* and (?P<found>\w+)",
    ),
    _rule("dtype-mismatch", "metadata", r"Found dtype (?P<found>\w+) but expected (?P<wanted>\w+)"),
    _rule(
        "index-dtype",
        "metadata",
        r"tensors used as indices must be long|expected (?:index|tensor for argument #1 'indices').* dtype|"
        r"Expected (?:dtype int64 for index|tensor for argument #1 'indices')",
    ),
    _rule(
        "bool-minus",
        "metadata",
        r"(?:Subtraction|Negation), the `-` operator, (?:with|on) (?P<count>two|a) bool tensor",
    ),
    _rule(
        "dtype-unsupported",
        "metadata",
        r"could not infer output dtype|not implemented for '\w+'|is only implemented on integer and Boolean",
    ),
    _rule(
        "device-mismatch",
        "device",
        r"Expected all tensors to be on the same device|Tensor on device \S+ is not on the expected device",
    ),
    _rule("device-numpy", "device", r"can't convert \S+ device type tensor to numpy"),
    _rule("meta-no-data", "data", r"Cannot copy out of meta tensor|cannot be called on meta tensors"),
    _rule(
        "no-accelerator",
        "device",
        r"Cannot access accelerator device when none is available|Torch not compiled with CUDA enabled|"
        r"not linked with support for cuda|No CUDA GPUs are available|Found no NVIDIA driver|"
        r"Cannot initialize CUDA|Attempting to deserialize object on a CUDA device",
    ),
    _rule(
        "out-of-memory",
        "data",
        r"DefaultCPUAllocator: (?:can't|not enough)|CUDA out of memory|Unable to allocate",
    ),
    _rule(
        "ambiguous-bool", "data", r"Boolean value of Tensor with (?:more than one|no) values? is ambiguous"
    ),
    _rule("item-non-scalar", "data", r"a Tensor with (?P<n>\d+) elements cannot be converted to Scalar"),
    _rule("item-non-scalar", "data", r"only one element tensors can be converted to Python scalars(?P<n>)"),
    _rule("item-non-scalar", "data", r"Cannot convert tensor with (?P<n>\d+) elements to a scalar"),
    _rule("sparse-uncoalesced", "data", r"Cannot get (?:values|indices) on an uncoalesced tensor"),
    _rule("nested-shape", "metadata", r"NestedTensorImpl doesn't support (?:sizes|strides)"),
    _rule("input-dims", "metadata", r"Expected (?P<want>.+?) input to (?P<op>\w+), but got input of size: "),
    _rule(
        "input-size",
        "metadata",
        r"must be equal to input_size\. Expected (?P<want>\d+), got (?P<got>\d+)|"
        r"was expecting embedding dimension of (?P<want_embedding>\d+), but got (?P<got_embedding>\d+)",
    ),
    _rule(
        "input-size",
        "metadata",
        r"Given normalized_shape=\[(?P<want>[^\]]*)\], .* got input of size\[(?P<got>[^\]]*)\]",
    ),
    _rule("input-size", "metadata", r"running_mean should contain (?P<got>\d+) elements not (?P<want>\d+)"),
    _rule(
        "batch-of-one",
        "metadata",
        r"Expected more than 1 value per channel when training, "
        r"got input size torch\.Size\((?P<got>\[[^\]]*\])\)",
    ),
    _rule(
        "target-shape",
        "metadata",
        r"0D or 1D target tensor expected, multi-target not supported|Using a target size .* is deprecated",
    ),
    _rule("input-without-grad", "autograd", r"One of the differentiated Tensors does not require grad"),
    _rule(
        "gradient-shape",
        "autograd",
        r"Mismatch in shape: grad_output\[\d+\] has a shape of torch\.Size\((?P<got>\[[^\]]*\])\) and "
        r"output\[\d+\] has a shape of torch\.Size\((?P<want>\[[^\]]*\])\)",
    ),
    _rule(
        "gradient-shape",
        "autograd",
        r"attempting to assign a gradient of size '(?P<got>\[[^\]]*\])' to a tensor of size "
        r"'(?P<want>\[[^\]]*\])'",
    ),
    _rule(
        "gradient-shape",
        "autograd",
        r"returned an invalid gradient at index \d+ - got (?P<got>\[[^\]]*\]) but expected shape "
        r"compatible with (?P<want>\[[^\]]*\])",
    ),
    _rule(
        "gradient-count",
        "autograd",
        r"function (?P<function>\w+?)Backward returned an incorrect number of gradients "
        r"\(expected (?P<want>\d+), got (?P<got>\d+)\)",
    ),
    _rule("nan-gradient", "autograd", r"Function '(?P<node>\w+)' returned nan values in its \d+th output"),
    _rule(
        "hidden-size",
        "metadata",
        r"Expected (?P<which>hidden(?:\[\d\])?) size (?P<want>\([^)]*\)), got (?P<got>\[[^\]]*\])",
    ),
    _rule("negative-strides", "metadata", r"At least one stride in the given numpy array is negative"),
    _rule(
        "ragged-list",
        "metadata",
        r"expected sequence of length (?P<want>\d+) at dim (?P<dim>\d+) \(got (?P<got>\d+)\)",
    ),
    _rule(
        "not-numbers",
        "metadata",
        r"too many dimensions 'str'|new\(\): invalid data type 'str'|can't convert np\.ndarray of type",
    ),
    _rule("singular-matrix", "data", r"input matrix is singular"),
    _rule(
        "not-probabilities",
        "data",
        r"probability tensor contains either|all elements of (?:input|target) should be between 0 and 1",
    ),
    _rule(
        "mask-dtype",
        "metadata",
        r"only supports boolean masks, but got mask|where expected condition to be a boolean tensor",
    ),
    _rule(
        "assign-parameter",
        None,
        r"cannot assign '(?P<found>[\w.]+)' as parameter '(?P<parameter>\w+)' \(torch\.nn\.Parameter or None",
    ),
    _rule(
        "mask-shape",
        "metadata",
        r"shape of the mask (?P<got>\[[^\]]*\]) at index (?P<dim>\d+) does not match the shape of the "
        r"indexed tensor (?P<want>\[[^\]]*\])",
    ),
    _rule(
        "assigned-shape",
        "metadata",
        r"value tensor of shape (?P<got>\[[^\]]*\]) cannot be broadcast to indexing result of shape "
        r"(?P<want>\[[^\]]*\])",
    ),
    _rule(
        "dim-count",
        "metadata",
        r"number of dimensions in the tensor input does not match the length|"
        r"the number of sizes provided \(\d+\) must be greater or equal|must be a matrix|"
        r"must be a 3D tensor|1D tensors expected, but got|expects a tensor with <= 2 dimensions|"
        r"must have the same number of dimensions as input tensor",
    ),
    _rule("index-out-of-range", "metadata", r"selected index k out of range(?P<index>)(?P<dim>)(?P<size>)"),
    _rule("too-many-indices", "metadata", r"invalid index of a (?P<dim>0)-dim tensor"),
    _rule("kernel-size", "metadata", r"Kernel size can't be greater than actual|Output size is too small"),
    _rule("empty-reduction", "data", r"Expected reduction dim to be specified for input\.numel\(\) == 0"),
    _rule("class-count", "data", r"Class values must be smaller than num_classes"),
    _rule(
        "unknown-device",
        "device",
        r"Expected one of cpu, cuda, .* at start of device string: (?P<device>\S+)",
    ),
    _rule(
        "not-a-tensor",
        None,
        r"argument '(?P<argument>\w+)' .*?must be (?:a )?Tensor, not (?P<found>[\w.]+)|"
        r"unsupported operand type\(s\) for \S+: 'Tensor' and '(?P<right>\w+)'|"
        r"unsupported operand type\(s\) for \S+: '(?P<left>\w+)' and 'Tensor'|"
        r"expected Tensor as element \d+ in argument \d+, but got (?P<element>\w+)",
    ),
    _rule("module-init", None, r"cannot assign (?:module|parameters?|buffers?) before Module\.__init__"),
    _rule("no-forward", None, r"is missing the required \"forward\" function"),
    _rule("compile-backend", None, r"Invalid backend: '(?P<backend>[^']+)'"),
    _rule("compile-backend-failed", None, r"backend='(?P<backend>[^']+)' raised:\s*(?P<said>[^\n]+)"),
    _rule("recompile-limit", None, r"Hard failure due to fullgraph=True"),
    _rule("recompile-forbidden", None, r"Recompiling function (?P<function>\S+) in "),
    _rule(
        "compile-shape",
        None,
        r"failed to run FX node with fake tensors: .* got (?P<type>\w+)\([\"'](?P<said>.*?)[\"']\)",
    ),
    _rule(
        "compile-dynamic",
        None,
        r"You marked (?P<source>\S+) as dynamic but your code specialized it to be a constant "
        r"\((?P<size>\d+)\)",
    ),
    _rule("compile-double-backward", "autograd", r"torch\.compile with \S+ does not .*double backward"),
    _rule(
        "graph-break",
        None,
        r"Could not guard on data-dependent|Data-dependent branching|torch\._dynamo\.|Dynamo|graph break",
    ),
    _rule(
        "no-kernel",
        "metadata",
        r"Could not run '(?P<op>[^']+)' with arguments from the "
        r"'(?P<backend>(?:Quantized|Sparse|SparseCsr|NestedTensor|Mkldnn)CPU)' backend",
    ),
    _rule(
        "einsum-size",
        "metadata",
        r"einsum\(\): subscript (?P<letter>\w) has size (?P<got>\d+) for operand (?P<index>\d+) which does "
        r"not broadcast with previously seen size (?P<want>\d+)",
    ),
    _rule("state-dict", None, r"Error\(s\) in loading state_dict for"),
    _rule("optimizer-empty", None, r"optimizer got an empty parameter list"),
)


def class_of_error(kind: str, message: str) -> str | None:
    """The class of an exception of PyTorch's by its text; None when no rule fits.

    >>> class_of_error("RuntimeError", "shape '[5]' is invalid for input of size 2")
    'view-size'
    """
    if kind in PYTHONS_OWN:
        return None
    return next((rule.name for rule in RULES if rule.pattern.search(message)), None)
