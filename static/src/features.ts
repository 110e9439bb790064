/**
 * The features of our own pages: what a player has there beyond the core that embeds carry.
 *
 * One line per feature. A feature stands in `features/`, adds its button or panel when a trace is
 * loaded (`stage.ts`), and imports what is heavy when it is first used.
 */
import { ANALYSE } from "./features/analyse";
import { BACKWARD } from "./features/backward";
import { CALLS } from "./features/calls";
import { COMPILED } from "./features/compiled";
import { DETAILS } from "./features/details";
import { DISPATCH } from "./features/dispatch";
import { EDGES } from "./features/edges";
import { FOLDS } from "./features/folds";
import { GRAPH } from "./features/graph";
import { GUIDE } from "./features/guide";
import { LADDER } from "./features/ladder";
import { MEMORY } from "./features/memory";
import { TEXT } from "./features/text";
import { TIME } from "./features/time";
import type { Feature } from "./stage";

export const FEATURES: readonly Feature[] = [
  TEXT,
  ANALYSE,
  MEMORY,
  CALLS,
  LADDER,
  EDGES,
  FOLDS,
  BACKWARD,
  DETAILS,
  GRAPH,
  COMPILED,
  DISPATCH,
  TIME,
  GUIDE,
];
