/** Whether a program draws random numbers, so that another seed gives it others. */
import type { Trace } from "../schema/trace.gen";

const DRAWS = /^aten::_?(rand|normal|native_dropout|dropout|fused_dropout|uniform|bernoulli|multinomial|exponential|geometric|cauchy|log_normal|poisson|binomial|random|rrelu|sample_|standard_gamma)/;
/** A program that seeds itself decides its numbers itself. */
const SEEDS = /\bmanual_seed\s*\(/;
const MOST_SEED = 1_000_000;

/** True where a run with another seed has other numbers. */
export function drawsNumbers(trace: Trace): boolean {
  return !SEEDS.test(trace.source) && trace.sites.some(({ op }) => DRAWS.test(trace.names[op] ?? ""));
}

/** A seed that is not this one. */
export function otherSeed(seed: number): number {
  const drawn = 1 + Math.floor(Math.random() * MOST_SEED);
  return drawn === seed ? drawn + 1 : drawn;
}
