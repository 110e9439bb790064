/** The features of figures as one script, for embeds: a sandboxed frame runs no modules. See `features/more.ts`. */
import { FIGURE_FEATURES } from "./features/figures";

Object.assign(globalThis, { tensorAnatomyFeatures: FIGURE_FEATURES });
