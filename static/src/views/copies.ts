/** What is said of a copy between devices: what each end is called, or else what made it. */
import type { TransferLife } from "../layout/lives";
import type { Origin } from "../model/state";
import { originShort } from "./readout";
import type { Say } from "./view";

/** `x → y`; an end without a name is the piece of the program that made it: `x @ W (line 3) → y`. */
export function endsOf(copy: TransferLife, say: Say): string {
  const source = endOf(copy.sourceName, copy.sourceOrigin, copy.line, say);
  return say("ui.devices.copy", { source, target: endOf(copy.targetName, copy.targetOrigin, copy.line, say) });
}

/** What a copy to come takes; null when that has neither name nor origin. */
export function sourceOf({ sourceName, sourceOrigin }: TransferLife): string | null {
  return sourceName ?? originShort(sourceOrigin);
}

/** The line is said where it is not the copy's own. */
function endOf(name: string | null, origin: Origin | null, line: number | null, say: Say): string {
  const code = name ?? originShort(origin) ?? say("ui.memory.unnamed");
  return name !== null || origin === null || origin.line === line ? code : say("ui.devices.made", { code, line: origin.line });
}
