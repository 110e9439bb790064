/** Words of what opens on a press, which the playground does not carry: charts, lenses, two programs side by side. */
import type { Catalogue, Messages } from "./model/messages";

/** Has them come, where the page does not carry them. */
export async function worded(messages: Messages): Promise<void> {
  const address = document.querySelector<HTMLMetaElement>('meta[name="chart-words"]')?.content;
  if (address === undefined || messages.text("ui.analyse.title") !== "ui.analyse.title") return;
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(String(answer.status));
  messages.add((await answer.json()) as Catalogue);
}
