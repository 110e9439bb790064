"""What is said of hooks on gradients."""

from tensor_anatomy.explaining import explain


def test_a_hook_and_a_kept_gradient_are_said(trace_of):
    trace = explain(
        trace_of("""
        import torch
        w = torch.ones(2, requires_grad=True)
        y = w * 2
        y.retain_grad()
        y.register_hook(print)
        w.retain_grad()
        w.register_post_accumulate_grad_hook(print)
    """)
    )
    sentences = trace.sentences
    said = [[sentences[i].id for i in step if sentences[i].layer == "autograd"] for step in trace.said]

    assert said[3:] == [["autograd.retains"], ["autograd.hook"], ["autograd.none"], ["autograd.hook-after"]]
