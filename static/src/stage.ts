/**
 * What a player offers to the parts it is made of: arrangements and features.
 *
 * The core (model, layout, the views of one step) goes into every embed, which must stay light. What a
 * page has beyond that is a feature: it gets the stage once per trace, adds its button or panel, and
 * is shown each state after the views. A heavy one loads its own parts by `import()` when first asked.
 */
import type { Messages } from "./model/messages";
import type { Outline } from "./model/outline";
import type { Focus, State } from "./model/state";
import type { FigureName, Player } from "./player";
import type { Trace } from "./schema/trace.gen";
import type { CodeView } from "./views/code";
import type { Controls } from "./views/controls";
import type { View } from "./views/view";

/** A view and the element it is mounted in. */
export type Placed = [View, HTMLElement];

export interface Stage {
  readonly player: Player;
  readonly root: HTMLElement;
  readonly trace: Trace;
  readonly outline: Outline;
  readonly messages: Messages;
  readonly code: CodeView;
  readonly controls: Controls;
  /** For how the run ended. */
  readonly banner: HTMLElement;
  /** Room for buttons: the page's own in the header of the code, features' there and in that of the timeline. */
  readonly tools: Readonly<Record<"page" | "code" | "timeline", HTMLElement>>;
  readonly showsCode: boolean;
  readonly showsControls: boolean;
  /** Makes the pictures (memory, devices, graph) that this player shows, inside an element. */
  figures(into: HTMLElement): Placed[];
}

/** How the parts of a player stand on the page. */
export interface Arrangement {
  readonly name: "page" | "compact";
  arrange(stage: Stage): Placed[];
  /** Controls other than the core's. */
  controls?(messages: Messages): Controls;
  /** Pictures that the core leaves out. */
  readonly figures?: Readonly<Partial<Record<FigureName, () => View>>>;
}

/** What a feature added to one trace's player. */
export interface Extra {
  show(state: State, focus: Focus): void;
  /** Brings what is shown into sight, once all views have shown it. */
  settle?(): void;
  /** Rows for the sheet of keys: the keys, and the end of a message id below `ui.help.`. */
  readonly keys?: readonly (readonly [string, string])[];
  /** A key that no one else took; true when it meant something here. */
  key?(key: string): boolean;
}

/** `views` are those that are mounted: a feature may add to what one of them shows. */
export type Feature = (stage: Stage, views: readonly View[]) => Extra | null;
