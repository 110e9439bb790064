/** The way of an op through PyTorch's dispatcher, in a sheet that is loaded when it is first asked for. */
import type { State } from "../model/state";
import type { Feature } from "../stage";
import { styled } from "../styles";
import { WAY_EVENT } from "../views/view";

/** A player listens for the trace that it shows; an earlier one's listener goes. */
const listening = new WeakMap<HTMLElement, AbortController>();

export const DISPATCH: Feature = (stage) => {
  listening.get(stage.root)?.abort();
  const controller = new AbortController();
  listening.set(stage.root, controller);
  let shown: State | null = null;
  stage.root.addEventListener(
    WAY_EVENT,
    (event) => {
      const op = shown?.ops[(event as CustomEvent<number>).detail];
      const state = shown;
      if (op === undefined || state === null) return;
      void Promise.all([import("./dispatch-sheet"), styled("compiled")]).then(([{ openWay }]) => openWay(stage, state, op));
    },
    { signal: controller.signal },
  );
  return { show: (state) => void (shown = state) };
};
