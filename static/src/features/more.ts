/**
 * The rest of the features, where a player must be light: one button, and the keys of what it brings.
 *
 * A served embed names in `#more` where the script, the styles and the words are; an exported file has them inside.
 */
import type { Catalogue } from "../model/messages";
import { dataBlock } from "../page";
import type { Extra, Feature, Stage } from "../stage";
import { el } from "../views/dom";

/** Where the script of the features leaves them. */
interface Brought {
  tensorAnatomyFeatures?: readonly Feature[];
}

interface Places {
  readonly script: string;
  readonly styles: string;
  /** Null where the page has every word. */
  readonly words: string | null;
}

const KEYS = "vbwketiou[],.";

let brought = false;

export const MORE: Feature = (stage) => {
  const places = dataBlock<Places>("more");
  const inside = (globalThis as Brought).tensorAnatomyFeatures !== undefined;
  return brought || !stage.showsControls || (places === null && !inside) ? null : new More(stage, places);
};

class More implements Extra {
  readonly keys = [["v b w k e t", "more"]] as const;
  private readonly button: HTMLButtonElement;
  private coming = false;

  constructor(
    private readonly stage: Stage,
    private readonly places: Places | null,
  ) {
    const say = stage.messages.text;
    this.button = el("button", { type: "button", class: "control more-button", title: say("ui.help.more"), "aria-label": say("ui.help.more") }, "⋯");
    this.button.addEventListener("click", () => void this.bring(null));
    stage.tools.timeline.append(this.button);
  }

  show(): void {
    // It shows nothing of a step.
  }

  key(key: string): boolean {
    if (brought || !KEYS.includes(key)) return false;
    void this.bring(key);
    return true;
  }

  /** Brings them, and presses the key that asked for one. */
  private async bring(key: string | null): Promise<void> {
    if (this.coming || brought) return;
    this.coming = true;
    this.button.setAttribute("aria-busy", "true");
    try {
      const features = await this.load();
      brought = true;
      this.button.remove();
      this.stage.player.extend(features);
      const { root, tools } = this.stage;
      if (key === null) tools.timeline.querySelector<HTMLElement>("button")?.focus();
      const at = root.contains(document.activeElement) ? document.activeElement : root;
      if (key !== null) at?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    } catch {
      // It may be asked for again.
      const words = this.stage.messages.text("ui.player.again");
      this.button.textContent = "↻";
      this.button.title = words;
      this.button.setAttribute("aria-label", words);
    }
    this.coming = false;
    this.button.removeAttribute("aria-busy");
  }

  private async load(): Promise<readonly Feature[]> {
    if (this.places !== null) {
      const { script, styles, words } = this.places;
      const asked = words === null ? null : fetch(words);
      await Promise.all([arrived(el("link", { rel: "stylesheet", href: styles })), arrived(el("script", { src: script }))]);
      const answer = await asked;
      if (answer?.ok === false) throw new Error(String(answer.status));
      if (answer !== null) this.stage.messages.add((await answer.json()) as Catalogue);
    }
    const features = (globalThis as Brought).tensorAnatomyFeatures;
    if (features === undefined) throw new Error("the script brought nothing");
    return features;
  }
}

/** Adds an element that loads something to the page. */
function arrived(element: HTMLElement): Promise<void> {
  return new Promise((done, fail) => {
    element.addEventListener("load", () => done());
    element.addEventListener("error", () => {
      element.remove();
      fail(new Error("did not come"));
    });
    document.head.append(element);
  });
}
