/** Keys of the timeline: to the writes of the storage that is followed, and where the memory is. */
import type { Feature } from "../stage";
import { TimelineView } from "../views/timeline";

export const TIME: Feature = (_, views) => {
  const timeline = views.find((view) => view instanceof TimelineView);
  if (timeline === undefined) return null;
  return {
    show: () => undefined,
    keys: [
      [", .", "writes"],
      ["m", "held"],
    ],
    key: (key) => {
      if (key === "m") timeline.turn();
      else if (key === ",") timeline.goToWrite("previous");
      else if (key === ".") timeline.goToWrite("next");
      else return false;
      return true;
    },
  };
};
