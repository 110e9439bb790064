/**
 * A window on a picture larger than it: drag to move, Ctrl + wheel, buttons or + and - to zoom, fit.
 *
 * The plain wheel and a finger's vertical swipe are left to the page around it. Nothing moves by
 * itself but to bring what has the keyboard into sight.
 */
import { el } from "./dom";

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/**
 * Below this the smallest words of the picture cannot be read, and chips come too close to one another to be hit
 * (30 px from the middle of one to the next, and 24 are wanted); fit goes no further by itself.
 */
const READABLE = 0.8;
const SMALLEST = 0.15;
const LARGEST = 2.5;
const MARGIN = 16;
const STEP = 1.25;

export class Viewport {
  readonly root: HTMLElement;
  private x = 0;
  private y = 0;
  private scale = 1;
  private touched = false;
  private followed: Box | null = null;
  private room = { width: 0, height: 0 };
  private readonly fingers = new Map<number, PointerEvent>();

  constructor(
    private readonly picture: HTMLElement,
    readonly size: Pick<Box, "width" | "height">,
    label: string,
    private readonly moved: () => void,
  ) {
    this.root = el("div", { class: "viewport", tabindex: 0, role: "group", "aria-label": label }, picture);
    picture.classList.add("viewport-picture");
    this.listen();
    new ResizeObserver(() => {
      // Kept, because asking while views are changing would make the browser lay out the page.
      this.room = { width: this.root.clientWidth, height: this.root.clientHeight };
      if (!this.touched) this.follow(this.followed);
    }).observe(this.root);
  }

  /** Shows all of it, but not smaller than `least`; what does not fit begins at the top left. */
  private fit(least = SMALLEST): void {
    const { width, height } = this.room;
    if (width === 0 || height === 0) return;
    const inside = { width: width - 2 * MARGIN, height: height - 2 * MARGIN };
    this.scale = Math.max(least, Math.min(1, inside.width / this.size.width, inside.height / this.size.height));
    const [wide, high] = [this.size.width * this.scale, this.size.height * this.scale];
    this.x = MARGIN;
    this.y = high <= inside.height ? (height - high) / 2 : MARGIN;
    if (wide <= inside.width && wide > inside.width * 0.6) this.x = (width - wide) / 2;
  }

  /**
   * Until the reader moves it: the whole picture, or as much as can be read, with a box in sight.
   * Where it stands follows from the box alone, whatever was shown before.
   */
  follow(box: Box | null): void {
    this.followed = box;
    if (this.touched) return;
    this.fit(READABLE);
    if (box !== null && this.hides(box)) this.bring(box);
    this.place();
  }

  fitAll(): void {
    this.touched = true;
    this.fit();
    this.place();
  }

  zoom(steps: number): void {
    this.zoomAt(this.room.width / 2, this.room.height / 2, STEP ** steps);
  }

  /** Moves as little as shows a box of the picture. */
  reveal(box: Box): void {
    this.bring(box);
    this.touched = true;
    this.place();
  }

  /** Moves by so many pixels of the window. */
  pan(dx: number, dy: number): void {
    this.x += dx;
    this.y += dy;
    this.touched = true;
    this.place();
  }

  /** Shows the picture from this point of it on, the left top one, at this scale. */
  look({ x, y }: Pick<Box, "x" | "y">, scale: number): void {
    this.scale = scale;
    this.x = -x * scale;
    this.y = -y * scale;
    this.touched = true;
    this.place();
  }

  get zoomed(): number {
    return this.scale;
  }

  /** The part of the picture that the window shows. */
  get shown(): Box {
    const { scale, room } = this;
    return { x: -this.x / scale, y: -this.y / scale, width: room.width / scale, height: room.height / scale };
  }

  private bring(box: Box): void {
    const [left, top] = [this.x + box.x * this.scale, this.y + box.y * this.scale];
    const [right, bottom] = [left + box.width * this.scale, top + box.height * this.scale];
    this.x += shift(left, right, this.room.width);
    this.y += shift(top, bottom, this.room.height);
  }

  /** Some of a box of the picture is outside the window. */
  hides(box: Box): boolean {
    const [left, top] = [this.x + box.x * this.scale, this.y + box.y * this.scale];
    const { width, height } = this.room;
    return width > 0 && (left < 0 || top < 0 || left + box.width * this.scale > width || top + box.height * this.scale > height);
  }

  private zoomAt(px: number, py: number, factor: number): void {
    const scale = Math.max(SMALLEST, Math.min(LARGEST, this.scale * factor));
    this.x = px - ((px - this.x) * scale) / this.scale;
    this.y = py - ((py - this.y) * scale) / this.scale;
    this.scale = scale;
    this.touched = true;
    this.place();
  }

  private place(): void {
    this.picture.style.setProperty("transform", `translate(${this.x}px, ${this.y}px) scale(${this.scale})`);
    this.moved();
  }

  private listen(): void {
    const { root } = this;
    root.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        const box = root.getBoundingClientRect();
        this.zoomAt(event.clientX - box.left, event.clientY - box.top, Math.exp(-event.deltaY / 300));
      },
      { passive: false },
    );
    // The browser would scroll to what gets the keyboard; `reveal` does that.
    root.addEventListener("scroll", () => root.scrollTo(0, 0));
    const { fingers } = this;
    root.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || (fingers.size === 0 && event.target instanceof Element && event.target.closest("button") !== null)) return;
      root.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, event);
      root.classList.add("dragged");
    });
    root.addEventListener("pointermove", (event) => {
      const from = fingers.get(event.pointerId);
      if (from === undefined) return;
      const [other] = [...fingers.values()].filter((finger) => finger !== from);
      fingers.set(event.pointerId, event);
      if (other !== undefined) {
        const box = root.getBoundingClientRect();
        const apart = (finger: PointerEvent): number => Math.hypot(finger.clientX - other.clientX, finger.clientY - other.clientY) || 1;
        this.zoomAt(other.clientX - box.left, other.clientY - box.top, apart(event) / apart(from));
      } else this.pan(event.clientX - from.clientX, event.clientY - from.clientY);
    });
    for (const end of ["pointerup", "pointercancel"] as const) {
      root.addEventListener(end, (event) => {
        fingers.delete(event.pointerId);
        root.classList.toggle("dragged", fingers.size > 0);
      });
    }
    // Two fingers zoom this picture, not the page.
    const still = (event: TouchEvent): void => {
      if (event.touches.length > 1) event.preventDefault();
    };
    root.addEventListener("touchmove", still, { passive: false });
    root.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "+" || event.key === "=") this.zoom(1);
      else if (event.key === "-") this.zoom(-1);
      else if (event.key === "0") this.fitAll();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }
}

function shift(start: number, end: number, room: number): number {
  if (start < MARGIN || end - start > room - 2 * MARGIN) return MARGIN - start;
  return end > room - MARGIN ? room - MARGIN - end : 0;
}
