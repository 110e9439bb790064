"""The names of PyTorch's generated wrappers around CUDA kernels, which an error about two devices ends in.

Which op has a wrapper that compares devices is read off the schema file that PyTorch ships, as its own code
generator does (`device_check` in native_functions.yaml); a test holds this list against that generator.
"""

from typing import Any

_STRUCTURED_OPS = """
    _addmm_activation _convert_indices_from_csr_to_coo _linalg_solve_ex _log_softmax_backward_data
    _softmax_backward_data adaptive_max_pool2d_backward adaptive_max_pool3d_backward addmm addmm_
    addmv addmv_ avg_pool2d_backward avg_pool3d_backward baddbmm baddbmm_ bmm cat clamp.Tensor
    clamp_.Tensor clamp_max.Tensor clamp_max_.Tensor clamp_min.Tensor clamp_min_.Tensor elu_backward
    fractional_max_pool2d fractional_max_pool2d_backward fractional_max_pool3d gather gcd gcd_
    gelu_backward hardshrink_backward hardsigmoid_backward igamma igamma_ igammac igammac_ index_add
    index_add_ index_copy index_copy_ index_reduce index_reduce_ isin.Tensor_Tensor lcm lcm_
    leaky_relu_backward linalg_cross linalg_ldl_solve linalg_lu_solve logaddexp logaddexp2
    logit_backward lu_unpack max_pool2d_with_indices_backward mm nextafter nextafter_
    nll_loss_backward nll_loss_forward reflection_pad1d_backward reflection_pad3d_backward
    replication_pad1d_backward scatter.reduce scatter.src scatter.value scatter.value_reduce
    scatter_.reduce scatter_.src scatter_.value scatter_.value_reduce scatter_add scatter_add_
    scatter_reduce.two scatter_reduce_.two sigmoid_backward silu_backward slow_conv_transpose2d
    softplus_backward softshrink_backward tanh_backward threshold_backward triangular_solve
    """
_WRAPPED_OPS = """
    _adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward
    _amp_foreach_non_finite_check_and_unscale_ _amp_update_scale_ _batch_norm_with_update
    _cdist_backward _cdist_forward _cholesky_solve_helper _chunk_cat _compute_linear_combination
    _conv_depthwise2d _ctc_loss _ctc_loss.Tensor _ctc_loss_backward _ctc_loss_backward.Tensor
    _cummax_helper _cummin_helper _dirichlet_grad _embedding_bag _embedding_bag_backward
    _embedding_bag_dense_backward _embedding_bag_forward_only
    _embedding_bag_per_sample_weights_backward _fused_adagrad_ _fused_adam_ _fused_adamw_
    _fused_rms_norm _fused_rms_norm_backward _fused_sdp_choice _fused_sgd_
    _jagged_to_padded_dense_forward _make_per_channel_quantized_tensor _masked_scale _masked_softmax
    _masked_softmax_backward _native_batch_norm_legit _native_batch_norm_legit.no_stats
    _native_multi_head_attention _nested_tensor_from_mask _nested_tensor_from_mask_left_aligned
    _padded_dense_to_jagged_forward _pdist_backward _philox_normal_ _philox_uniform_ _prelu_kernel
    _prelu_kernel_backward _scaled_dot_product_cudnn_attention
    _scaled_dot_product_cudnn_attention_backward _scaled_dot_product_efficient_attention
    _scaled_dot_product_flash_attention _scaled_dot_product_flash_attention.quantized _scaled_mm
    _scaled_mm_v2 _segment_reduce_backward _slow_conv2d_backward.output_mask _slow_conv2d_forward
    _standard_gamma_grad _thnn_fused_gru_cell _thnn_fused_gru_cell_backward _thnn_fused_lstm_cell
    _thnn_fused_lstm_cell_backward_impl _transform_bias_rescale_qkv _transformer_encoder_layer_fwd
    _weight_norm_interface _weight_norm_interface_backward addbmm addbmm_ addmm.dtype addr
    baddbmm.dtype batch_norm_backward batch_norm_backward_elemt batch_norm_backward_reduce
    batch_norm_elemt batch_norm_gather_stats batch_norm_gather_stats_with_counts
    batch_norm_update_stats binary_cross_entropy_backward bincount bmm.dtype bucketize.Tensor
    conv_depthwise3d convolution_backward cudnn_batch_norm cudnn_batch_norm_backward
    cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose
    cudnn_grid_sampler cudnn_grid_sampler_backward dot embedding_dense_backward embedding_renorm_
    equal fractional_max_pool3d_backward glu_backward glu_backward_jvp glu_jvp grid_sampler_2d
    grid_sampler_2d_backward grid_sampler_3d grid_sampler_3d_backward hardswish_backward
    hardtanh_backward huber_loss index_select linalg_householder_product linalg_solve_triangular
    log_sigmoid_backward masked_scatter_ masked_select max_pool3d_with_indices_backward max_unpool2d
    max_unpool3d mish_backward mm.dtype mse_loss_backward multi_margin_loss
    multi_margin_loss_backward multilabel_margin_loss_backward multilabel_margin_loss_forward
    native_batch_norm native_batch_norm_backward native_dropout_backward native_group_norm
    native_group_norm_backward native_layer_norm native_layer_norm_backward nll_loss2d_backward
    nll_loss2d_forward normal.Tensor_Tensor ormqr put_ reflection_pad2d_backward
    replication_pad2d_backward replication_pad3d_backward rrelu_with_noise rrelu_with_noise_
    searchsorted.Scalar searchsorted.Tensor slow_conv_dilated2d slow_conv_dilated3d
    slow_conv_transpose3d take vdot
    """
_STRUCTURED_OUT_OPS = """
    _addmm_activation.out _convert_indices_from_coo_to_csr.out _convert_indices_from_csr_to_coo.out
    _linalg_det.result _linalg_eigh.eigenvalues _linalg_slogdet.sign _linalg_solve_ex.result
    _linalg_svd.U _log_softmax.out _log_softmax_backward_data.out _softmax.out
    _softmax_backward_data.out _upsample_nearest_exact1d.out
    _upsample_nearest_exact1d_backward.grad_input _upsample_nearest_exact2d.out
    _upsample_nearest_exact2d_backward.grad_input _upsample_nearest_exact3d.out
    _upsample_nearest_exact3d_backward.grad_input acosh.out adaptive_max_pool2d.out
    adaptive_max_pool2d_backward.grad_input adaptive_max_pool3d.out
    adaptive_max_pool3d_backward.grad_input addmm.out addmv.out amax.out amin.out argmax.out
    argmin.out asinh.out atanh.out avg_pool2d.out avg_pool2d_backward.grad_input avg_pool3d.out
    avg_pool3d_backward.grad_input baddbmm.out bmm.out cat.out elu_backward.grad_input exp2.out
    fractional_max_pool2d.output fractional_max_pool2d_backward.grad_input
    fractional_max_pool3d.output gather.out gcd.out gelu_backward.grad_input glu.out
    hardshrink_backward.grad_input hardsigmoid_backward.grad_input i0.out igamma.out igammac.out
    index_add.out index_copy.out index_reduce.out isin.Scalar_Tensor_out isin.Tensor_Scalar_out
    isin.Tensor_Tensor_out isneginf.out isposinf.out lcm.out leaky_relu_backward.grad_input
    linalg_cholesky_ex.L linalg_cross.out linalg_inv_ex.inverse linalg_ldl_factor_ex.out
    linalg_ldl_solve.out linalg_lu.out linalg_lu_factor_ex.out linalg_lu_solve.out linalg_qr.out
    linalg_vector_norm.out logaddexp.out logaddexp2.out logit_backward.grad_input lu_unpack.out
    max_pool2d_with_indices.out max_pool2d_with_indices_backward.grad_input mish.out mm.out
    nextafter.out nll_loss_backward.grad_input nll_loss_forward.output reflection_pad1d.out
    reflection_pad1d_backward.grad_input reflection_pad3d.out reflection_pad3d_backward.grad_input
    replication_pad1d.out replication_pad1d_backward.grad_input replication_pad2d.out
    replication_pad3d.out scatter.reduce_out scatter.src_out scatter.value_out
    scatter.value_reduce_out scatter_add.out scatter_reduce.two_out sgn.out
    sigmoid_backward.grad_input signbit.out silu.out silu_backward.grad_input sinc.out
    slow_conv_transpose2d.out softplus_backward.grad_input softshrink_backward.grad_input
    sort.values_stable tanh_backward.grad_input threshold_backward.grad_input topk.values
    triangular_solve.X tril.out triu.out upsample_bicubic2d.out
    upsample_bicubic2d_backward.grad_input upsample_bilinear2d.out
    upsample_bilinear2d_backward.grad_input upsample_linear1d.out
    upsample_linear1d_backward.grad_input upsample_nearest1d.out
    upsample_nearest1d_backward.grad_input upsample_nearest2d.out
    upsample_nearest2d_backward.grad_input upsample_nearest3d.out
    upsample_nearest3d_backward.grad_input upsample_trilinear3d.out
    upsample_trilinear3d_backward.grad_input
    """
_WRAPPED_OUT_OPS = """
    _batch_norm_with_update.out _chunk_cat.out _compute_linear_combination.out _conv_depthwise2d.out
    _fft_c2c.out _fft_c2r.out _fft_r2c.out _logcumsumexp.out _native_batch_norm_legit.no_stats_out
    _native_batch_norm_legit.out _slow_conv2d_backward.grad_input _slow_conv2d_forward.output
    adaptive_avg_pool2d.out adaptive_avg_pool3d.out adaptive_avg_pool3d_backward.grad_input
    addbmm.out addr.out batch_norm_elemt.out binary_cross_entropy_backward.grad_input
    bucketize.Tensor_out cholesky.out cholesky_inverse.out col2im.out complex.out conj_physical.out
    fractional_max_pool3d_backward.grad_input frexp.Tensor_out geqrf.a glu_backward.grad_input
    hardtanh_backward.grad_input histc.out huber_loss.out huber_loss_backward.out im2col.out
    index_select.out kthvalue.values linalg_eig.out linalg_eigvals.out
    linalg_householder_product.out linalg_lstsq.out linalg_solve_triangular.out
    log_sigmoid_backward.grad_input logit.out masked_select.out max_pool3d_with_indices.out
    max_pool3d_with_indices_backward.grad_input max_unpool2d.out max_unpool3d.out median.dim_values
    mse_loss_backward.grad_input multi_margin_loss.out multi_margin_loss_backward.grad_input
    multilabel_margin_loss_backward.grad_input multilabel_margin_loss_forward.output multinomial.out
    mvlgamma.out nan_to_num.out nanmedian.dim_values nansum.out native_batch_norm.out
    nll_loss2d_backward.grad_input nll_loss2d_forward.output nonzero.out nonzero_static.out
    normal.Tensor_Tensor_out normal.Tensor_float_out normal.float_Tensor_out ormqr.out polar.out
    reflection_pad2d.out reflection_pad2d_backward.grad_input replication_pad2d_backward.grad_input
    replication_pad3d_backward.grad_input rrelu_with_noise.out searchsorted.Scalar_out
    searchsorted.Tensor_out slow_conv_transpose3d.out smooth_l1_loss_backward.grad_input
    split_with_sizes_copy.out sspaddmm.out take.out
    """


def _names() -> dict[str, str]:
    names = {op: f"wrapper_CUDA_{op.replace('.', '_')}" for op in _STRUCTURED_OPS.split()}
    for op in _STRUCTURED_OUT_OPS.split():
        base, _, overload = op.partition(".")
        names[op] = f"wrapper_CUDA_{base}_out_{overload}"
    for ops, end in ((_WRAPPED_OPS, ""), (_WRAPPED_OUT_OPS, "_out")):
        for op in ops.split():
            base, _, overload = op.partition(".")
            names[op] = f"wrapper_CUDA_{overload}_{base}{end}"
    return names


WRAPPERS = _names()
"""Ops, without `aten::`, each with the name of its wrapper."""


def compared(func: Any) -> list[tuple[int, str]]:
    """Arguments whose devices a wrapper compares: what is written, then those that need no keyword."""
    arguments = list(enumerate(func._schema.arguments))
    written = [(i, a.name) for i, a in arguments if a.is_out]
    return written + [(i, a.name) for i, a in arguments if not a.kwarg_only]
