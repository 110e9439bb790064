/**
 * The state of a program after a step, as the views read it. `history.ts` folds a trace into it.
 *
 * Types only. A state is never changed once made: views may compare by identity.
 */
import type { SourceRange, TileGrid, TensorSummary, TensorTrait, TensorView } from "../schema/trace.gen";

export type Layer = "data" | "metadata" | "autograd" | "device";
export const LAYERS: readonly Layer[] = ["data", "metadata", "autograd", "device"];

/** A tensor at this step. */
export interface TensorNow {
  readonly id: number;
  readonly view: TensorView;
  readonly storage: number | null;
  readonly version: number | null;
  readonly gradFn: number | null;
  /** Id of the tensor in `.grad`. */
  readonly grad: number | null;
  readonly quantizer: string | null;
  /** What was recorded of it beside: a wrapper of `vmap`, lost bytes. `layout/traits.ts` adds what follows. */
  readonly traits: readonly TensorTrait[];
  /** Every expression of the reader's that gives it, shortest first; `w.grad` for a gradient; empty for a transient. */
  readonly names: readonly string[];
  /** What made it; null when no op that is told of did. */
  readonly origin: Origin | null;
  /** Nested list when the values do not follow from storage bytes (sparse, quantized…); else undefined. */
  readonly values: unknown;
  readonly summary: TensorSummary | null;
}

/** What made a tensor that has no name. */
export interface Origin {
  /** The value of a piece of the program; made on the way to it; or made by a node during backward. */
  readonly kind: "result" | "inside" | "backward";
  /** The piece of the program; the node's name for `backward`. */
  readonly code: string;
  readonly line: number;
  /** The call of PyTorch inside which it was made; empty when none was heard. */
  readonly api: string;
}

/** Who keeps a storage when no name reaches it, as the state document says it; views say it in their language. */
export const UNNAMED_HOLDERS: Readonly<Record<string, string>> = {
  cycle: "unreachable until garbage collection",
  unknown: "something the program's names do not reach",
};

/** A storage at this step. */
export interface StorageNow {
  readonly id: number;
  readonly nbytes: number;
  /** `0x7f…`, `0x0` when it has no address. */
  readonly address: string;
  readonly device: string;
  /** All bytes, or null when they were not recorded. */
  readonly bytes: Uint8Array | null;
  /** Of one too large to record: figures by tiles, or null when they were not recorded. */
  readonly tiles: TileGrid | null;
  readonly freed: boolean;
  /** Line of the statement that freed it. */
  readonly freedLine: number | null;
  /** Live tensors that view it, in the order they came to be. */
  readonly tensors: readonly number[];
  /** The number of the program that it holds for a node, as in `w * 2`; null for all others. */
  readonly scalar: string | null;
  /** Who keeps it: names, `f: x`, `w.grad`, `MulBackward0#5.self`, `f.__defaults__[0]`, or one of `UNNAMED_HOLDERS`. */
  readonly heldBy: readonly string[];
  /** What made its first tensor. */
  readonly origin: Origin | null;
}

export interface SavedNow {
  readonly field: string;
  readonly tensor: number | null;
  readonly storage: number | null;
  readonly version: number | null;
  readonly stale: boolean;
  readonly freed: boolean;
  /** The number it was made from, as in `w * 2`. */
  readonly scalar: string | null;
  /** What made the saved tensor. */
  readonly origin: Origin | null;
}

/** A node of the autograd graph that a live tensor leads to. */
export interface NodeNow {
  readonly id: number;
  readonly name: string;
  readonly line: number | null;
  readonly nextFunctions: readonly (readonly [number | null, number])[];
  /** Id of the leaf tensor of an AccumulateGrad. */
  readonly variable: number | null;
  readonly saved: readonly SavedNow[];
}

export interface OpNow {
  /** `aten::mul_.Tensor` */
  readonly op: string;
  readonly api: string | null;
  readonly range: SourceRange | null;
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
  readonly verdicts: readonly string[];
  /** Backward node that ran it. */
  readonly node: string | null;
  /** The library it ran inside, as `torch.optim`; null for what the program asked for itself. */
  readonly inside: string | null;
  /** Its way through the dispatcher, as an index into `routes`. */
  readonly route: number | null;
  readonly failed: boolean;
}

/** A call of the PyTorch API that dispatched no op. */
export interface ApiNow {
  readonly api: string;
  readonly range: SourceRange | null;
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
  /** The very tensor that went in came out. */
  readonly returnedInput: boolean;
}

export interface State {
  /** 0 before the first step. */
  readonly step: number;
  /** First line of the step's statement, null for step 0. */
  readonly line: number | null;
  readonly frame: number;
  readonly depth: number;
  /** Global names → tensor id. */
  readonly bindings: ReadonlyMap<string, number>;
  /** Names of the innermost function, empty outside one. */
  readonly locals: ReadonlyMap<string, number>;
  readonly tensors: ReadonlyMap<number, TensorNow>;
  readonly storages: ReadonlyMap<number, StorageNow>;
  readonly nodes: ReadonlyMap<number, NodeNow>;
  /** Bytes alive per device. */
  readonly alive: ReadonlyMap<string, number>;
  readonly peak: ReadonlyMap<string, number>;
  readonly stdout: string;
  /** Ops of this step and of the calls it made, in order. */
  readonly ops: readonly OpNow[];
  /** Calls of this step that dispatched no op, in order. */
  readonly apiCalls: readonly ApiNow[];
  /** Storages that were there before this step and got other bytes in it, with the bytes before. */
  readonly written: ReadonlyMap<number, Uint8Array | null>;
  /** Storages whose tiles were told before and are told anew in this step, with those before. */
  readonly retiled: ReadonlyMap<number, TileGrid | null>;
  /** Line → layers lit by any execution so far. */
  readonly lamps: ReadonlyMap<number, readonly Layer[]>;
}

/** What the reader looks at. Every view shows the same focus. */
export interface Focus {
  readonly tensor: number | null;
  readonly storage: number | null;
  /** Index into the focused tensor, one number per dimension. */
  readonly index: readonly number[] | null;
  readonly node: number | null;
}

export const NO_FOCUS: Focus = { tensor: null, storage: null, index: null, node: null };
