/** What a field is told: how each cell of a grid looks, and what is said of it. */

/** How one cell looks. */
export interface FieldCell {
  readonly text: string;
  /** `plain`, a view's mark as `v1`, `unknown` where no value was recorded, `none` where there is no memory. */
  readonly fill: string;
  /** Share of ink where cells are too small for words, 0 to 1; null for none. */
  readonly shade: number | null;
  /** The shade is that of a tile: the cell's own value was not recorded. */
  readonly hatched?: boolean;
  readonly hot: boolean;
  /** The same cell of memory as that of the ring. */
  readonly twin: boolean;
}

export interface FieldModel {
  readonly rows: number;
  readonly columns: number;
  /** A wider gap after so many rows; 0 for none. */
  readonly block: number;
  /** Characters that a cell should have room for. */
  readonly room: number;
  readonly ring: readonly [number, number] | null;
  /** The step and the tensor; where it changes, cells that are hot pulse. */
  readonly moment: string;
  /** What all cells follow from but the ring: a picture of tiny cells is painted once for as long as it stays. */
  readonly picture: string;
  readonly label: string;
  /** It begins with all its cells in sight rather than with the first ones at full size. */
  readonly whole?: boolean;
  /** The cell lies in a part that the step changed: such parts are framed. */
  framed?(row: number, column: number): boolean;
  cell(row: number, column: number): FieldCell;
  /** The ring's cell in words. */
  words(row: number, column: number): string;
  picked(row: number, column: number): void;
}
