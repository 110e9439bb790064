/* Generated from app/schema by `make types`. Do not edit. */

/**
 * A whole run.
 */
export interface Trace {
  /**
   * Version of this format.
   */
  schema_version: 1;
  /**
   * The program, as it was run.
   */
  source: string;
  /**
   * What ran it.
   */
  environment: Environment;
  /**
   * Its statements.
   */
  statements: Statement[];
  /**
   * Names of API calls, aten ops and graph nodes; events hold indices.
   */
  names: string[];
  /**
   * How tensors look at their storages; events hold indices.
   */
  views: TensorView[];
  /**
   * Sub-expressions; events hold indices.
   */
  ranges: SourceRange[];
  /**
   * Ops at their places in the program; events hold indices.
   */
  sites: OpSite[];
  /**
   * Ways of ops through the dispatcher; sites hold indices.
   */
  routes?: DispatchRoute[];
  /**
   * In the order they ended; step 1 is the first of them.
   */
  steps: Step[];
  /**
   * How it ended.
   */
  outcome: Outcome;
  /**
   * What watching changed.
   */
  observer_effects: ObserverEffect[];
  /**
   * Whether it was held against a run that nobody watched, and what that run had instead.
   */
  comparison: Comparison;
  /**
   * Why it failed. Derived.
   */
  explanation: Explanation | null;
  /**
   * Quiet mistakes. Derived.
   */
  notes: Note[];
  /**
   * Sentences about steps, each once: a loop says the same again and again. Derived.
   */
  sentences: Sentence[];
  /**
   * What changed, per step: indices into `sentences`, at least one per layer. Derived.
   */
  said: number[][];
  /**
   * Coordinates of the final autograd graph; null when there is none. Derived.
   */
  graph: GraphDrawing | null;
  /**
   * Coordinates of the graphs that `torch.compile` made. Derived.
   */
  fx_graphs?: FxDrawing[];
}
/**
 * What ran the program.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "Environment".
 */
export interface Environment {
  /**
   * `torch.__version__`.
   */
  torch: string;
  /**
   * Version of Python.
   */
  python: string;
  /**
   * The device programs may use besides the CPU: `cpu` for none, `cuda`, `simulated-cuda`; of a script of
   * one's own also `mps`.
   */
  device: string;
  /**
   * The device is simulated.
   */
  simulated: boolean;
  /**
   * Seed of the random generators; None when nobody set one, as for a script of one's own.
   */
  seed: number | null;
}
/**
 * A statement of the program. A compound statement owns its header only.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "Statement".
 */
export interface Statement {
  /**
   * Class of its syntax tree node: `Assign`, `For`, `ExceptHandler`.
   */
  kind: string;
  /**
   * Where it stands.
   */
  range: SourceRange;
}
/**
 * A piece of the program. Lines from 1, columns from 0 in characters, the end exclusive.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "SourceRange".
 */
export interface SourceRange {
  /**
   * First line.
   */
  line: number;
  /**
   * First column.
   */
  column: number;
  /**
   * Last line.
   */
  end_line: number;
  /**
   * Column after the last.
   */
  end_column: number;
}
/**
 * How a tensor looks at a storage. Kept in a table: many tensors of a trace look alike.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "TensorView".
 */
export interface TensorView {
  /**
   * Sizes per dimension; null where PyTorch raises (nested tensors).
   */
  shape: number[] | null;
  /**
   * Elements to skip per dimension, 0 where expanded; null where PyTorch raises (sparse, nested).
   */
  stride: number[] | null;
  /**
   * Elements from the start of the storage; null where PyTorch raises.
   */
  storage_offset: number | null;
  /**
   * `torch.float32` and so on.
   */
  dtype: string;
  /**
   * `torch.strided`, `torch.sparse_coo` and so on.
   */
  layout: string;
  /**
   * `cpu`, `cuda:0`, `meta`.
   */
  device: string;
  /**
   * `is_contiguous()`; null where PyTorch raises.
   */
  is_contiguous: boolean | null;
  /**
   * The conjugate bit: values are read as conjugates of the bytes.
   */
  is_conj: boolean;
  /**
   * The negative bit: values are read as negatives of the bytes.
   */
  is_neg: boolean;
  /**
   * Autograd records what is done with it.
   */
  requires_grad: boolean;
  /**
   * Made by the user rather than by a recorded operation; null where PyTorch raises.
   */
  is_leaf: boolean | null;
}
/**
 * What is the same each time an aten op runs at one place of a program in the same way.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "OpSite".
 */
export interface OpSite {
  /**
   * Index into `names`: the `OpOverload.name()`, as in `aten::mul_.Tensor`.
   */
  op: number;
  /**
   * Index into `names`: the API call it ran under; null when none was seen (backward, operators of C++).
   */
  api: number | null;
  /**
   * Index into `ranges`: the sub-expression of the program it ran for; null when unknown.
   */
  range: number | null;
  /**
   * Per output an index into the trace's `views`: how it looks below autograd, when it was made.
   */
  views: number[];
  /**
   * One per output.
   */
  verdicts: ("fresh" | "view" | "same" | "in-place")[];
  /**
   * Which inputs the schema says are written, as indices into `inputs`.
   */
  writes: number[];
  /**
   * Index into `names`: the autograd node that ran it during backward; null in forward.
   */
  node: number | null;
  /**
   * The op raised.
   */
  failed: boolean;
  /**
   * Index into `routes`: its way through the dispatcher when it first ran here; null when not known.
   */
  route?: number | null;
}
/**
 * The way of an op through the dispatcher. The keys were observed, the kernels looked up.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "DispatchRoute".
 */
export interface DispatchRoute {
  /**
   * Index into `names`: the op.
   */
  op: number;
  /**
   * Its keys, the one that is asked first at the front. Those of our own watching are left out.
   */
  stops: DispatchStop[];
  /**
   * The op named as the API call, if PyTorch decomposes that into others. Looked up.
   */
  composite: string | null;
  /**
   * The keys of that op, up to the one where it becomes others; empty when the thread was not seen.
   */
  outer: DispatchStop[];
  /**
   * Keys that the thread adds or leaves out (autocast, inference mode) are included; else only those of the
   * operands are known. Those of modes are with the call of the program: an op inside is past them.
   */
  thread_seen: boolean;
}
/**
 * A dispatch key of a call, and what the op has for it.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "DispatchStop".
 */
export interface DispatchStop {
  /**
   * Name of the key: `AutogradCPU`.
   */
  key: string;
  /**
   * What is registered: a kernel of its own, autograd's, one that decomposes into other ops, one for all
   * backends; or the key's own for all ops, one that only passes the call on, nothing.
   */
  kernel: "kernel" | "autograd" | "composite" | "default" | "fallback" | "fallthrough" | "none";
}
/**
 * One execution of one statement, or many of them folded.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "Step".
 */
export interface Step {
  /**
   * Index into `statements`.
   */
  statement: number;
  /**
   * The frame it ran in; 0 for the module.
   */
  frame: number;
  /**
   * Calls of the program's own functions around it.
   */
  depth: number;
  /**
   * How many steps had ended when it began.
   */
  began: number;
  /**
   * Where its own events begin, counted from the first event of the trace. Events of the steps in between
   * belong to calls it made, and so to it as well.
   */
  first_event: number;
  /**
   * 1; of a folded step, how often the statement was executed in the iterations that were folded.
   */
  executions: number;
  /**
   * The iterations it stands for, each statement of theirs with one step; null for a step of one execution.
   * The last of these steps holds the events that count after all of them.
   */
  fold: Fold | null;
  /**
   * It was left by an exception.
   */
  raised: boolean;
  /**
   * What it did to the names of its frame.
   */
  changed: {
    [k: string]: ("data" | "metadata" | "autograd" | "device" | "new" | "rebound" | "deleted")[];
  };
  /**
   * The layers it touched.
   */
  lamps: ("data" | "metadata" | "autograd" | "device")[];
  /**
   * Most bytes alive at once during the step, per device.
   */
  peak_bytes: {
    [k: string]: number;
  };
  /**
   * What was observed since the step before it ended.
   */
  events: (
    | UntypedStorage
    | StorageBytes
    | StorageTiles
    | StorageFreed
    | StorageHeld
    | TensorState
    | TensorValues
    | TensorTraits
    | TensorsGone
    | OpCall
    | ApiCall
    | GraphNode
    | SavedTensorChanged
    | SavedTensorsFreed
    | NodeRan
    | GradientSeen
    | Transfer
    | AllocatorFigures
    | NamesBound
    | FrameEntered
    | FrameLeft
    | StdoutWritten
    | WarningIssued
    | BlockLeft
    | Resumed
    | ExceptionRaised
    | ThreadRan
    | ProcessForked
    | OpsUnheard
    | TracingTurnedOff
    | EntriesLeftOut
    | SiteInside
    | Compilation
    | CompiledRun
  )[];
}
/**
 * Iterations of a loop that were not kept one by one.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "Fold".
 */
export interface Fold {
  /**
   * The statement that heads the loop, as an index into `statements`. Null for calls that one statement
   * makes again and again, and for what repeats without either, as a recursion does.
   */
  loop: number | null;
  /**
   * Number of the first of them, from 1.
   */
  first: number;
  /**
   * Number of the last.
   */
  last: number;
}
/**
 * A storage came to be known, or its size or address changed.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "UntypedStorage".
 */
export interface UntypedStorage {
  kind: "storage";
  /**
   * Stable within a trace. Equal ids share memory.
   */
  id: number;
  /**
   * Size in bytes.
   */
  nbytes: number;
  /**
   * `data_ptr()` in hexadecimal; `0x0` for meta and empty storages.
   */
  address: string;
  /**
   * The device its bytes are on, as PyTorch writes it: `cpu`, `cuda:0`, `meta`.
   */
  device: string;
}
/**
 * The bytes of a storage as they were observed.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "StorageBytes".
 */
export interface StorageBytes {
  kind: "bytes";
  /**
   * The storage's id.
   */
  storage: number;
  /**
   * All its bytes in base64; null when they changed and the new ones were not recorded.
   */
  data: string | null;
  /**
   * Recorded when the program was over, of a change that was told without its bytes.
   */
  late: boolean;
}
/**
 * The values of a storage too large to record, by tiles.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "StorageTiles".
 */
export interface StorageTiles {
  kind: "tiles";
  /**
   * The storage's id.
   */
  storage: number;
  /**
   * Null when its bytes changed and no new figures were taken.
   */
  grid: TileGrid | null;
  /**
   * Taken when the program was over, of a change that was told without them.
   */
  late: boolean;
}
/**
 * The figures of a storage's tiles.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "TileGrid".
 */
export interface TileGrid {
  /**
   * The dtype its bytes were read as; of complex ones the figures are of absolute values.
   */
  dtype: string;
  /**
   * Elements of that dtype in the storage.
   */
  cells: number;
  /**
   * Cells in a row, in address order: a row of the storage's tensor, or all its cells.
   */
  columns: number;
  /**
   * Rows of a tile; the last tiles may have fewer.
   */
  height: number;
  /**
   * Cells of a row in a tile; the last tiles may have fewer.
   */
  width: number;
  /**
   * Cells the figures are taken from; fewer than `cells` when sampled.
   */
  looked_at: number;
  /**
   * Base64 of seven bytes per tile, row by row: bounds of its finite values and their mean.
   */
  figures: string;
  /**
   * Runs of tiles with values that are not finite: the first tile, how many, and in each of them how many
   * values were not a number, how many infinite.
   */
  odd: [number, number, number, number][];
}
/**
 * Storages whose bytes were given back.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "StorageFreed".
 */
export interface StorageFreed {
  kind: "freed";
  /**
   * Ids of the storages.
   */
  storages: number[];
  /**
   * First line of the statement that was running.
   */
  line: number | null;
}
/**
 * Who keeps a storage that no name, no `.grad` and no saved tensor accounts for: what a search found.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "StorageHeld".
 */
export interface StorageHeld {
  kind: "held";
  /**
   * The storage's id.
   */
  storage: number;
  /**
   * `name`: something the program's names reach; `cycle`: only objects that keep each other, until the
   * garbage collector runs; `unknown`: something the program's names do not reach.
   */
  by: "name" | "cycle" | "unknown";
  /**
   * For `name` how a name reaches it: `f.__defaults__[0]`, `keep.__traceback__ › f: x`.
   */
  holders: string[];
}
/**
 * A tensor came to be known or changed: its whole state, values aside.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "TensorState".
 */
export interface TensorState {
  kind: "tensor";
  /**
   * Stable within a trace: one Python tensor object.
   */
  id: number;
  /**
   * Index into the trace's `views`.
   */
  view: number;
  /**
   * The storage it views; null for layouts without one.
   */
  storage: number | null;
  /**
   * The version counter at the end of the statement; null for inference tensors.
   */
  version: number | null;
  /**
   * The autograd node that made it; null for a leaf.
   */
  grad_fn: number | null;
  /**
   * Id of the tensor in `.grad`; null when there is none or it is not accumulated here.
   */
  grad: number | null;
  /**
   * Scale and zero point of a quantized tensor; null for others.
   */
  quantizer: string | null;
}
/**
 * Values of a tensor that do not follow from recorded storage bytes.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "TensorValues".
 */
export interface TensorValues {
  kind: "values";
  /**
   * The tensor's id.
   */
  tensor: number;
  /**
   * Nested list as in the state document; null when there is only a summary or nothing readable.
   */
  values: {
    [k: string]: unknown;
  };
  /**
   * For large tensors.
   */
  summary: TensorSummary | null;
}
/**
 * What is said of a tensor too large to show every value.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "TensorSummary".
 */
export interface TensorSummary {
  /**
   * `numel()`.
   */
  elements: number;
  /**
   * Elements the figures are taken from; fewer than `elements` when sampled.
   */
  looked_at: number;
  /**
   * Smallest value looked at, `"nan"`, `"inf"` or `"-inf"` where it is that.
   */
  minimum: number | string | null;
  /**
   * Largest value looked at.
   */
  maximum: number | string | null;
  /**
   * Mean of the values looked at.
   */
  mean: number | string | null;
  /**
   * Nested list: the first values along each of the last two dimensions.
   */
  corner: {
    [k: string]: unknown;
  };
  /**
   * Of up to 4,096 of the values looked at; null for complex values, and in traces of older versions.
   */
  histogram?: Histogram | null;
}
/**
 * How the values of a large tensor are spread, of some of them.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "Histogram".
 */
export interface Histogram {
  /**
   * Where the first bin begins: the smallest finite value counted.
   */
  low: number;
  /**
   * Where the last bin ends: the largest finite value counted.
   */
  high: number;
  /**
   * Finite values in each bin, all bins as wide as each other.
   */
  counts: number[];
  /**
   * Values that were looked at and are infinite or not a number.
   */
  others: number;
}
/**
 * The traits of a tensor came to be known or changed.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "TensorTraits".
 */
export interface TensorTraits {
  kind: "traits";
  /**
   * The tensor's id.
   */
  tensor: number;
  /**
   * All it has now.
   */
  traits: TensorTrait[];
}
/**
 * Something about a tensor that its view does not say: `batched`, `uninitialized`, `foreign-memory`.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "TensorTrait".
 */
export interface TensorTrait {
  /**
   * Which one; the catalogues say it as `trait.<id>`.
   */
  id: string;
  /**
   * Values for the placeholders of that message.
   */
  args: {
    [k: string]: unknown;
  };
}
/**
 * Tensors that were destroyed.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "TensorsGone".
 */
export interface TensorsGone {
  kind: "gone";
  /**
   * Ids of the tensors.
   */
  tensors: number[];
}
/**
 * One aten op below autograd.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "OpCall".
 */
export interface OpCall {
  kind: "op";
  /**
   * Index into `sites`: which op, where, and what came of it.
   */
  site: number;
  /**
   * Ids of the tensors among the arguments, in order.
   */
  inputs: number[];
  /**
   * Ids of the tensors returned.
   */
  outputs: number[];
}
/**
 * A call of the PyTorch API without an op: `contiguous()` of a contiguous x, `requires_grad_()`.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "ApiCall".
 */
export interface ApiCall {
  kind: "api";
  /**
   * Index into `names`.
   */
  api: number;
  /**
   * Index into `ranges`; null when unknown.
   */
  range: number | null;
  /**
   * Ids of the tensors among the arguments.
   */
  inputs: number[];
  /**
   * Ids of the tensors returned.
   */
  outputs: number[];
  /**
   * The very tensor that went in came out.
   */
  returned_input: boolean;
}
/**
 * A node of the autograd graph came to be known.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "GraphNode".
 */
export interface GraphNode {
  kind: "node";
  /**
   * Stable within a trace.
   */
  id: number;
  /**
   * Index into `names`: `type(grad_fn).__name__`.
   */
  name: number;
  /**
   * First line of the statement that made it; null when it was there before it was seen.
   */
  line: number | null;
  /**
   * Where gradients flow: pairs of node id (null for none) and input number.
   */
  next_functions: [number | null, number][];
  /**
   * For AccumulateGrad the id of its leaf; null otherwise.
   */
  variable: number | null;
  /**
   * Tensors kept for backward, in the order of the node's fields.
   */
  saved: SavedTensor[];
  /**
   * The modules during whose calls it was made, outermost first: indices into `names`, as in
   * `model[0]: Linear`, or the class alone where no variable of the program leads to it.
   */
  modules?: number[];
}
/**
 * A tensor a node keeps for backward.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "SavedTensor".
 */
export interface SavedTensor {
  /**
   * The node's name for it: `self`, `result`, `mat1`, `tensors[0]`.
   */
  field: string;
  /**
   * Id of the saved tensor object; a saved output is an object of its own.
   */
  tensor: number | null;
  /**
   * The storage it views; equal ids are one memory, whatever their nodes.
   */
  storage: number | null;
  /**
   * The version it was saved at; backward refuses when it has moved on. Null when it has no counter.
   */
  version: number | null;
}
/**
 * A saved tensor's version moved away from the saved one, or came back.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "SavedTensorChanged".
 */
export interface SavedTensorChanged {
  kind: "saved";
  /**
   * The node's id.
   */
  node: number;
  /**
   * Index into the node's `saved`.
   */
  slot: number;
  /**
   * True: backward through this node will raise.
   */
  stale: boolean;
}
/**
 * Nodes whose saved tensors were released, by a backward pass that did not retain the graph.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "SavedTensorsFreed".
 */
export interface SavedTensorsFreed {
  kind: "saved-freed";
  /**
   * Ids of the nodes.
   */
  nodes: number[];
}
/**
 * The ops that follow run in a backward pass, until the next event of this kind in the step.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "NodeRan".
 */
export interface NodeRan {
  kind: "ran";
  /**
   * The node that the engine runs; null for what it does between nodes, as adding up the gradients that
   * arrive at one, and for the program's hooks. A node that hands on what it gets runs no op.
   */
  node: number | null;
  /**
   * Number of the backward pass, from 1: one may run inside another.
   */
  task: number;
}
/**
 * A tensor as an op of a backward pass left it. Only some are read.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "GradientSeen".
 */
export interface GradientSeen {
  kind: "gradient";
  /**
   * Id of the tensor.
   */
  tensor: number;
  /**
   * Its values as a nested list when it is small; null otherwise.
   */
  values: {
    [k: string]: unknown;
  };
  /**
   * The root of the sum of its squared values; null when it is too large to be read.
   */
  norm: number | string | null;
}
/**
 * Bytes were copied between devices.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "Transfer".
 */
export interface Transfer {
  kind: "transfer";
  /**
   * Id of the tensor copied from.
   */
  source: number;
  /**
   * Id of the tensor copied to.
   */
  target: number;
  /**
   * Where it was.
   */
  source_device: string;
  /**
   * Where the copy is.
   */
  target_device: string;
  /**
   * Bytes copied.
   */
  nbytes: number;
}
/**
 * What the caching allocator of a device says of itself, at the end of each statement that changed it.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "AllocatorFigures".
 */
export interface AllocatorFigures {
  kind: "allocator";
  /**
   * `cuda:0`.
   */
  device: string;
  /**
   * The figures are those of a model of the allocator.
   */
  simulated: boolean;
  /**
   * Bytes of blocks that tensors hold, rounded as the allocator does: `torch.cuda.memory_allocated()`.
   */
  allocated_bytes: number;
  /**
   * Bytes taken from the device, in use or kept for later: `torch.cuda.memory_reserved()`.
   */
  reserved_bytes: number;
  /**
   * `torch.cuda.max_memory_allocated()`.
   */
  peak_allocated_bytes: number;
  /**
   * `torch.cuda.max_memory_reserved()`.
   */
  peak_reserved_bytes: number;
  /**
   * Pieces in which they were taken.
   */
  segments: number;
  /**
   * Times so far that unused segments were given back because the device was full.
   */
  retries: number;
  /**
   * Times so far that it was out of memory.
   */
  failures: number;
  /**
   * Bytes the device has, or the program may reserve of it; null where that was not asked.
   */
  capacity_bytes?: number | null;
  /**
   * Sizes of the blocks of each segment, in the order of their addresses, free ones negative. Null where
   * they were not asked for, or are too many.
   */
  blocks?: number[][] | null;
}
/**
 * What a name of a frame leads to, whenever that changed. No paths: it leads to no tensor any more.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "NamesBound".
 */
export interface NamesBound {
  kind: "names";
  /**
   * 0 for the module's globals, else the frame's id.
   */
  frame: number;
  /**
   * The variable.
   */
  root: string;
  /**
   * Python expressions that start with the variable, each with the id of the tensor it gives.
   */
  paths: {
    [k: string]: number;
  };
}
/**
 * A function of the program was called.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "FrameEntered".
 */
export interface FrameEntered {
  kind: "call";
  /**
   * Id of the new frame.
   */
  frame: number;
  /**
   * Its qualified name.
   */
  function: string;
}
/**
 * A function returned, yielded for good, or was left by an exception.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "FrameLeft".
 */
export interface FrameLeft {
  kind: "return";
  /**
   * Id of the frame.
   */
  frame: number;
}
/**
 * The program printed; stderr is merged in.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "StdoutWritten".
 */
export interface StdoutWritten {
  kind: "stdout";
  /**
   * Lone surrogates are escaped with backslashes.
   */
  text: string;
}
/**
 * A warning was shown.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "WarningIssued".
 */
export interface WarningIssued {
  kind: "warning";
  /**
   * Line of the program it points at; null when it points elsewhere.
   */
  line: number | null;
  /**
   * Class of the warning.
   */
  category: string;
  /**
   * Its text.
   */
  message: string;
}
/**
 * The step runs the header of a `with` statement again, to leave its block.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "BlockLeft".
 */
export interface BlockLeft {
  kind: "block-left";
}
/**
 * The step goes on with a statement that a `yield` or an `await` had suspended.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "Resumed".
 */
export interface Resumed {
  kind: "resumed";
}
/**
 * An exception was raised in the running statement, caught later or not.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "ExceptionRaised".
 */
export interface ExceptionRaised {
  kind: "exception";
  /**
   * Its class.
   */
  type: string;
  /**
   * The beginning of its text.
   */
  message: string;
  /**
   * Index into `ranges`: the sub-expression that raised; null when unknown.
   */
  range: number | null;
}
/**
 * A thread began to run code of the program. What runs in it is not watched: no lines, no ops.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "ThreadRan".
 */
export interface ThreadRan {
  kind: "thread";
  /**
   * Name of the thread.
   */
  name: string;
  /**
   * The first function of the program that ran in it.
   */
  function: string;
}
/**
 * The program started another process by fork. What runs in it is not part of the trace.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "ProcessForked".
 */
export interface ProcessForked {
  kind: "process";
}
/**
 * `torch.jit.trace` recorded: to leave that alone, the ops of that time were not listened to.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "OpsUnheard".
 */
export interface OpsUnheard {
  kind: "ops-unheard";
}
/**
 * The program took the trace function away: lines after this step were not seen.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "TracingTurnedOff".
 */
export interface TracingTurnedOff {
  kind: "tracing-off";
}
/**
 * A container is too large for a name to be made for each entry.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "EntriesLeftOut".
 */
export interface EntriesLeftOut {
  kind: "entries";
  /**
   * 0 for the module's globals, else the frame's id.
   */
  frame: number;
  /**
   * The variable that leads to it.
   */
  root: string;
  /**
   * The expression that gives the container.
   */
  path: string;
  /**
   * Entries that were looked at.
   */
  named: number;
  /**
   * Entries it has.
   */
  count: number;
}
/**
 * Ops of a site run inside library code that the program called: `o.step()` runs inside `torch.optim`.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "SiteInside".
 */
export interface SiteInside {
  kind: "inside";
  /**
   * Index into `sites`.
   */
  site: number;
  /**
   * The library.
   */
  module: string;
}
/**
 * Dynamo compiled a function, or tried to.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "Compilation".
 */
export interface Compilation {
  kind: "compiled";
  /**
   * PyTorch's id of the compilation: `0/1` is the second one of the first function.
   */
  id: string;
  /**
   * Name of the function.
   */
  function: string;
  /**
   * First line of the function; for the rest of one, where it goes on. Null when it is a library's.
   */
  line: number | null;
  /**
   * It is the rest of a function, after a graph break.
   */
  resumes: boolean;
  /**
   * Name of the backend; null when unknown.
   */
  backend: string | null;
  /**
   * A graph; a function without anything to capture; not compiled by PyTorch's choice; run as written,
   * because it could not be compiled; an error that the program got.
   */
  outcome: "graph" | "no-graph" | "skipped" | "eager" | "failed";
  /**
   * Why there is no graph, as PyTorch says.
   */
  reason: string | null;
  /**
   * The captured graph, then what AOTAutograd made of it, if it was asked.
   */
  graphs: FxGraph[];
  /**
   * Where its graph ends too early.
   */
  breaks: GraphBreak[];
  /**
   * What is checked before its graph is used again: what depends on the program's own variables.
   */
  guards: Guard[];
  /**
   * All guards that PyTorch counts, those on its own modules and modes included.
   */
  guard_count: number;
  /**
   * Why graphs that were there could not be used, the newest first; none for a first compilation.
   */
  recompiled: FailedGuard[];
}
/**
 * An FX graph.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "FxGraph".
 */
export interface FxGraph {
  /**
   * What it is.
   */
  stage: "captured" | "joint" | "forward" | "backward" | "inference";
  /**
   * Nodes that call something, those left out included.
   */
  calls: number;
  /**
   * Its nodes, in order.
   */
  nodes: FxNode[];
  /**
   * Nodes left out because the graph is too large.
   */
  omitted: number;
}
/**
 * A node of an FX graph.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "FxNode".
 */
export interface FxNode {
  /**
   * Its name in the graph: `mul`, `l_x_`.
   */
  name: string;
  /**
   * What FX calls its kind.
   */
  op: "placeholder" | "call_function" | "call_method" | "call_module" | "get_attr" | "output";
  /**
   * What it calls, or where it comes from: `operator.mul`, `Tensor.relu`, `aten.mul.Tensor`, `self.w`.
   */
  target: string;
  /**
   * Its arguments as text, other nodes by name.
   */
  arguments: string;
  /**
   * The nodes among its arguments, as indices into `nodes`.
   */
  inputs: number[];
  /**
   * Shape of its result as the compiler knew it; symbolic sizes as texts. Null when that is no tensor.
   */
  shape: (number | string)[] | null;
  /**
   * Dtype of its result, or the type of a result that is no tensor; null when unknown.
   */
  dtype: string | null;
  /**
   * Line of the program that it was captured from; null when PyTorch does not say.
   */
  line: number | null;
}
/**
 * A place where dynamo could not go on, so that the graph ends.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "GraphBreak".
 */
export interface GraphBreak {
  /**
   * Line of the program; null when it lies elsewhere.
   */
  line: number | null;
  /**
   * PyTorch's name for this kind of break.
   */
  type: string;
  /**
   * PyTorch's explanation.
   */
  reason: string;
  /**
   * What PyTorch says can be done.
   */
  hints: string[];
}
/**
 * What must hold for a compiled graph to be used again.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "Guard".
 */
export interface Guard {
  /**
   * What it checks: all of a tensor's metadata, a value, the length of a container, a class, that it is the
   * same object, a relation of sizes, that two arguments are the same.
   */
  what: "tensor" | "value" | "length" | "type" | "identity" | "size" | "alias" | "other";
  /**
   * The variable it checks, as an expression of the compiled function; empty when there is none.
   */
  source: string;
  /**
   * Where the variable lives; null when it is neither.
   */
  scope: ("local" | "global") | null;
  /**
   * What must hold.
   */
  text: string;
}
/**
 * Why a graph that was there could not be used.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "FailedGuard".
 */
export interface FailedGuard {
  /**
   * Id of its compilation.
   */
  graph: string;
  /**
   * What differed; a mode is one of PyTorch's own, as `torch.no_grad` or autocast.
   */
  what: "size" | "stride" | "rank" | "dtype" | "requires-grad" | "value" | "length" | "type" | "mode" | "other";
  /**
   * The variable, as an expression of the compiled function; the modes that differed.
   */
  source: string | null;
  /**
   * The dimension, when a size or a stride differed.
   */
  index: number | null;
  /**
   * What the graph was compiled for; null when it is not known.
   */
  expected: string | null;
  /**
   * What came; null when it is not known.
   */
  actual: string | null;
  /**
   * PyTorch's words.
   */
  text: string;
}
/**
 * Compiled code ran: all guards of its compilation held.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "CompiledRun".
 */
export interface CompiledRun {
  kind: "compiled-run";
  /**
   * Id of the compilation.
   */
  compilation: string;
  /**
   * It had run before: its graph came from the cache.
   */
  again: boolean;
}
/**
 * How a run ended. A program that raises, loops or crashes is a result.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "Outcome".
 */
export interface Outcome {
  /**
   * `stopped` is a limit of ours; `crashed` a process that died or whose bytes made no sense.
   */
  kind: "finished" | "raised" | "stopped" | "crashed";
  /**
   * Innermost line of the program in the traceback, or the line that was running.
   */
  line: number | null;
  /**
   * Class of the exception.
   */
  type: string | null;
  /**
   * Its text, or what happened in one sentence.
   */
  message: string | null;
  /**
   * Why, when the sandbox was the cause.
   */
  reason:
    ("time-limit" | "step-limit" | "memory-limit" | "output-limit" | "denied" | "signal" | "invalid-reply") | null;
  /**
   * The limit that was met, with its value, in words.
   */
  limit: string | null;
  /**
   * The sub-expression that raised.
   */
  range: SourceRange | null;
  /**
   * Lines of the program in the traceback, outermost first.
   */
  traceback: number[];
  /**
   * What was being done.
   */
  failure: Failure | null;
}
/**
 * What was being done when the program raised: facts, no explanation.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "Failure".
 */
export interface Failure {
  /**
   * The API call.
   */
  api: string | null;
  /**
   * The aten op, when one had been dispatched.
   */
  op: string | null;
  /**
   * Its arguments.
   */
  operands: Operand[];
  /**
   * The backward node that was running.
   */
  node: string | null;
}
/**
 * An argument of a call that failed.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "Operand".
 */
export interface Operand {
  /**
   * Id of the tensor; null when it is not one.
   */
  tensor: number | null;
  /**
   * The reader's name or expression for it; null when it has none.
   */
  name: string | null;
  /**
   * Its shape and dtype, or its value.
   */
  text: string;
}
/**
 * A difference between the observed run and the plain one.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "ObserverEffect".
 */
export interface ObserverEffect {
  /**
   * The fact that differs: `grad_fn`, `values`, `version`, `stdout`.
   */
  what: string;
  /**
   * The name it concerns.
   */
  name: string | null;
  /**
   * As traced.
   */
  observed: string;
  /**
   * As it is without a tracer.
   */
  plain: string;
}
/**
 * Whether a program was held against an unobserved run of itself, and what that run had instead.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "Comparison".
 */
export interface Comparison {
  /**
   * `differs`: see `observer_effects`. `pending`: that run has not ended yet.
   */
  state: "same" | "differs" | "not-compared" | "pending";
  /**
   * Why it was not compared.
   */
  reason:
    ("stopped" | "crashed" | "denied" | "nothing-ran" | "busy" | "off" | "local" | "plain-stopped" | "older") | null;
  /**
   * Facts that differ from one unobserved run to the next, so that nothing can be said of them.
   */
  unsteady: string[];
  /**
   * Nodes with another name.
   */
  nodes: PlainNode[];
  /**
   * Contents that are shown instead of the observed ones.
   */
  contents: PlainContents[];
  /**
   * One for each observer effect, in their order; else why there was no comparison. Derived.
   */
  sentences: Sentence[];
}
/**
 * A graph node that has another name when nobody watches.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "PlainNode".
 */
export interface PlainNode {
  /**
   * Its id.
   */
  node: number;
  /**
   * `type(grad_fn).__name__` in the unobserved run.
   */
  name: string;
}
/**
 * Contents as the unobserved run has them. They are what a reader is shown, from step `since` on.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "PlainContents".
 */
export interface PlainContents {
  /**
   * The storage whose bytes these are.
   */
  storage: number | null;
  /**
   * The tensor whose values these are, when no storage has them.
   */
  tensor: number | null;
  /**
   * The step after which the observed run wrote them no more.
   */
  since: number;
  /**
   * The bytes, base64.
   */
  data: string | null;
  /**
   * The values; null beside bytes.
   */
  values: {
    [k: string]: unknown;
  };
}
/**
 * A sentence by message id: the catalogues say it in each language.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "Sentence".
 */
export interface Sentence {
  /**
   * The layer it is about.
   */
  layer: ("data" | "metadata" | "autograd" | "device") | null;
  /**
   * Id in the catalogues.
   */
  id: string;
  /**
   * Values for its placeholders.
   */
  args: {
    [k: string]: unknown;
  };
}
/**
 * Why a program failed, from the facts of its trace.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "Explanation".
 */
export interface Explanation {
  /**
   * The class of error: `saved-tensor-modified`, `view-stride`, `matmul-shape` and so on.
   */
  class: string;
  /**
   * The line that raised.
   */
  line: number | null;
  /**
   * The line that made it fail, when it is another one.
   */
  caused_by: number | null;
  /**
   * Names of the tensors concerned.
   */
  operands: string[];
  /**
   * The explanation and what to do.
   */
  sentences: Sentence[];
  /**
   * Changes that may keep it from failing so, the likeliest first. None of them has been tried.
   */
  fixes?: Fix[];
}
/**
 * A change of the program that an explanation offers.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "Fix".
 */
export interface Fix {
  /**
   * Says what it does: a message `ui.compare.fix.<kind>` words it.
   */
  kind: string;
  /**
   * In no order; they do not overlap.
   */
  edits: Edit[];
}
/**
 * A change of the program's text, on one line of it.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "Edit".
 */
export interface Edit {
  /**
   * What is replaced; nothing, where it begins and ends at one place.
   */
  range: SourceRange;
  /**
   * What stands there instead. It may hold line breaks.
   */
  text: string;
}
/**
 * A quiet mistake that was noticed.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "Note".
 */
export interface Note {
  /**
   * Where.
   */
  line: number;
  /**
   * The class of mistake.
   */
  class: string;
  /**
   * What it is.
   */
  sentence: Sentence;
  /**
   * A change that would undo it.
   */
  fix?: Fix | null;
}
/**
 * The whole graph of a trace.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "GraphDrawing".
 */
export interface GraphDrawing {
  /**
   * Width of the drawing.
   */
  width: number;
  /**
   * Height of the drawing.
   */
  height: number;
  /**
   * Boxes.
   */
  nodes: NodeDrawing[];
  /**
   * Edges.
   */
  edges: EdgeDrawing[];
  /**
   * Nodes not drawn because the graph is too large.
   */
  omitted: number;
  /**
   * The same folded; null when there is nothing to fold.
   */
  folded?: FoldedDrawing | null;
}
/**
 * A box of the autograd graph. A leaf is drawn with its AccumulateGrad in one box.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "NodeDrawing".
 */
export interface NodeDrawing {
  /**
   * Id of the graph node.
   */
  node: number;
  /**
   * Left edge, in CSS pixels.
   */
  x: number;
  /**
   * Top edge.
   */
  y: number;
  /**
   * Width of the box.
   */
  width: number;
  /**
   * Height of the box.
   */
  height: number;
  /**
   * The step after which the node exists.
   */
  step: number;
}
/**
 * A routed edge, from a node to the node its gradient flows to.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "EdgeDrawing".
 */
export interface EdgeDrawing {
  /**
   * Id of the node the gradient comes from.
   */
  source: number;
  /**
   * Id of the node it flows to.
   */
  target: number;
  /**
   * The polyline, from source to target.
   */
  points: [number, number][];
}
/**
 * The graph with modules and chains folded, each with a picture of what is inside.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "FoldedDrawing".
 */
export interface FoldedDrawing {
  /**
   * Width of the whole, folded.
   */
  width: number;
  /**
   * Height of the whole, folded.
   */
  height: number;
  /**
   * Boxes of the whole.
   */
  nodes: NodeDrawing[];
  /**
   * Edges of the whole.
   */
  edges: EdgeDrawing[];
  /**
   * Nodes that no box stands for.
   */
  omitted: number;
  /**
   * What is folded.
   */
  folds: FoldDrawing[];
}
/**
 * A box that stands for many nodes, and opens where it stands.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "FoldDrawing".
 */
export interface FoldDrawing {
  /**
   * Its number, from 1; in a picture's boxes and edges it is told by minus its number.
   */
  id: number;
  /**
   * `module`: nodes made during one call of a module; `chain`: nodes of one kind in a row; `lines`: nodes
   * that the program made one after the other.
   */
  kind: "module" | "chain" | "lines";
  /**
   * How the program reaches the module; the nodes' name for a chain; the lines that made them, as `3` or
   * `3–9`. Empty when nothing leads to it.
   */
  label: string;
  /**
   * The module's class; empty for the others.
   */
  class_name: string;
  /**
   * The fold it stands in; 0 for the whole graph.
   */
  inside: number;
  /**
   * Ids of all nodes it stands for.
   */
  members: number[];
  /**
   * Width of the picture inside.
   */
  width: number;
  /**
   * Height of the picture inside.
   */
  height: number;
  /**
   * Boxes of the picture inside. Those of `outside` are neighbours: small ones at its left and right end,
   * where edges leave and enter, or whole leaves drawn again beside their users.
   */
  nodes: NodeDrawing[];
  /**
   * Edges of the picture inside.
   */
  edges: EdgeDrawing[];
  /**
   * Boxes that do not belong to it: what it gets gradients from and sends them to.
   */
  outside: number[];
}
/**
 * Coordinates of one FX graph. Derived.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "FxDrawing".
 */
export interface FxDrawing {
  /**
   * Id of the compilation.
   */
  compilation: string;
  /**
   * The step in which it was compiled, from 1.
   */
  step: number;
  /**
   * Which graph.
   */
  stage: "captured" | "joint" | "forward" | "backward" | "inference";
  /**
   * Boxes and edges; a box's `node` is the index of an FX node, and edges go from it to its users.
   */
  drawing: GraphDrawing;
}
/**
 * How events of one kind are packed: a list of an index into `shapes` and of the values of its fields.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "EventShape".
 */
export interface EventShape {
  /**
   * The kind.
   */
  kind: string;
  /**
   * Name and code of each field. `""`: the value as it is. `t`, `s`, `n`, `p`: ids of tensors, storages,
   * nodes and backward passes, alone, in a list or as the values of an object; an id newer than all before
   * is told by minus its distance from the newest, a recent one by twice its distance, any other by twice
   * itself plus one. `x`: the next text aside, null for none. `{"rows": [[name, code], …]}`: records, each a
   * list of values. `{"pair": [code, …]}`: lists.
   */
  fields: [
    string,
    (
      | string
      | {
          [k: string]: unknown;
        }
    )
  ][];
}
/**
 * Records of one kind.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "Table".
 */
export interface Table {
  /**
   * Their fields.
   */
  fields: string[];
  /**
   * The values of each.
   */
  rows: unknown[][];
}
/**
 * A trace as it is sent. The fields not named here are those of `Trace`.
 *
 * This interface was referenced by `Trace`'s JSON-Schema
 * via the `definition` "PackedTrace".
 */
export interface PackedTrace {
  /**
   * How it is packed.
   */
  packed: 1;
  /**
   * Per step an index into `blocks`.
   */
  steps: number[];
  /**
   * Steps that read alike: the values of `fields`, and the packed events. `began` and `first_event` are
   * told by their distance from the step and from its first event.
   */
  blocks: [unknown[], unknown[][]][];
  /**
   * Fields of a step, its events aside.
   */
  fields: string[];
  /**
   * Kinds of events.
   */
  shapes: EventShape[];
  /**
   * Texts aside: bytes in base64, addresses.
   */
  texts: string[];
  /**
   * Indices into `texts`, in the order of the events.
   */
  aside: number[];
  views: Table;
  ranges: Table;
  sites: Table;
  sentences: Table;
  /**
   * As `Trace.graph`, but for nodes and edges in tables, those of `folded` and its `folds` too.
   */
  graph: {
    [k: string]: unknown;
  } | null;
  [k: string]: unknown;
}
