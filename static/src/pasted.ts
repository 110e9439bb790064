/**
 * An embed of a program that stands in the address, behind the hash: it is run and shown.
 *
 * A script of its own, after the player's: embeds of recorded traces have no use for it. It has classes of its
 * own, so it knows the player by its element alone.
 */
import { linkTo, readLink } from "./model/link";
import { Problem, runProgram } from "./model/run";
import type { TracePlayer } from "./trace-player";
import { el } from "./views/dom";

const RUN_MS = 30_000;

/** Runs the program of the address and shows it. */
async function showPasted(player: TracePlayer): Promise<void> {
  const { messages } = player;
  const { source, step, seed, device } = await readLink(location.hash);
  const notice = el("p", { class: "notice", role: "status" }, messages.text("ui.run.running", { seconds: 0, steps: 0, line: 0 }));
  player.replaceChildren(notice);
  const open = document.getElementById("open");
  if (source !== null) open?.setAttribute("href", `${open.getAttribute("href") ?? ""}${await linkTo({ source, seed, device }, step)}`);
  try {
    if (source === null) throw new Problem("unreadable-link", "");
    const trace = await runProgram({ source, seed, device }, AbortSignal.timeout(RUN_MS), { compared: (result) => player.player?.compare(result) });
    if (step !== null) player.setAttribute("step", String(step));
    player.load(trace);
  } catch (error) {
    const problem = error instanceof Problem ? error : new Problem("unreachable", "");
    const id = `ui.problem.${problem.code}`;
    const args = { limit: problem.limit ?? 0, seconds: problem.retryAfter ?? 1, message: problem.message };
    const said = messages.text(id, args);
    notice.textContent = said === id ? problem.message : said;
    player.replaceChildren(notice);
  }
}

const player = document.querySelector<TracePlayer>("trace-player");
if (player !== null) void showPasted(player);
