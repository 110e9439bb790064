/**
 * What the players of lessons and embeds have beyond the core: what `features.ts` gives a whole page, but for
 * charts, the guided minute, and what belongs to the timeline of a page.
 *
 * Lessons load it once they are shown, embeds when they are asked to.
 */
import type { Feature } from "../stage";
import { BACKWARD } from "./backward";
import { CALLS } from "./calls";
import { COMPILED } from "./compiled";
import { DETAILS } from "./details";
import { DISPATCH } from "./dispatch";
import { FOLDS } from "./folds";
import { GRAPH } from "./graph";
import { LADDER } from "./ladder";
import { LIFE } from "./life";
import { MEMORY } from "./memory";
import { TEXT } from "./text";

export const FIGURE_FEATURES: readonly Feature[] = [LIFE, TEXT, MEMORY, CALLS, LADDER, FOLDS, BACKWARD, DETAILS, GRAPH, COMPILED, DISPATCH];
