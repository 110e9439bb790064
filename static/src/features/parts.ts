/**
 * Views that features add to, found by what they are and not by their class: the features of an embed come in a
 * script of their own, which has classes of its own.
 */
import type { AutogradView } from "../views/autograd";
import type { View } from "../views/view";

/** The picture of the graph, where it is shown. */
export function graphAmong(views: readonly View[]): AutogradView | undefined {
  return views.find((view): view is AutogradView => "boxes" in view && "edges" in view);
}
