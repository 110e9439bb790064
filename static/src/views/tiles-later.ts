/** What draws large storages by tiles: loaded when a trace first has one. */
import type { TileArt } from "./tile-art";

export class TilesLater {
  now: TileArt | null = null;
  private asked = false;

  /** Loads it, once; `then` when it is there. */
  load(then: () => void): void {
    if (this.asked) return;
    this.asked = true;
    void import("./tile-art").then(({ TileArt: Art }) => {
      this.now = new Art();
      then();
    });
  }
}
