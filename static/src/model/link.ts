/**
 * A program in the address: `#z=` holds it deflated and in base64url, `#code=` as it is.
 *
 * The part after the hash never reaches a server.
 */

import { isDeviceChoice, type DeviceChoice, type Program } from "./program";

/** What an address says: a program, the step to show, its seed (0 unless it says so) and its device (else `auto`). */
export interface Link {
  readonly source: string | null;
  readonly step: number | null;
  readonly seed: number;
  readonly device: DeviceChoice;
}

/** A decompressed program larger than this is no program of ours. */
const MOST_BYTES = 1 << 20;

/** The hash of an address for a program and a step. */
export async function linkTo({ source, seed, device }: Program, step: number | null): Promise<string> {
  const chosen = `${seed === 0 ? "" : `&seed=${seed}`}${device === "auto" ? "" : `&device=${device}`}`;
  return `#z=${await squeeze(source)}${chosen}${step === null ? "" : `&step=${step}`}`;
}

/** Reads a hash. A program that cannot be read is null: the caller says so. */
export async function readLink(hash: string): Promise<Link> {
  const parts = new URLSearchParams(hash.replace(/^#/, "").replaceAll("+", "%2B"));
  const [packed, code] = [parts.get("z"), parts.get("code")];
  const source = packed === null ? code : await unsqueeze(packed);
  return { source, step: stepOf(parts), seed: seedOf(parts), device: deviceOf(parts) };
}

/** True when an address carries a program. */
export function carriesProgram(hash: string): boolean {
  return /[#&](z|code)=/.test(hash);
}

/** True when it carries two, to be compared. */
export function carriesPair(hash: string): boolean {
  return /[#&]z2=/.test(hash);
}

function seedOf(parts: URLSearchParams): number {
  const text = parts.get("seed") ?? "";
  return /^\d{1,8}$/.test(text) ? Number(text) : 0;
}

/** `step=7`, or Python Tutor's `curInstr=6`, which counts from 0. */
export function stepOf(parts: URLSearchParams): number | null {
  for (const [name, shift] of [["step", 0], ["curInstr", 1]] as const) {
    const text = parts.get(name) ?? "";
    if (/^\d{1,8}$/.test(text)) return Number(text) + shift;
  }
  return null;
}

function deviceOf(parts: URLSearchParams): DeviceChoice {
  const asked = parts.get("device");
  return isDeviceChoice(asked) ? asked : "auto";
}

/** A text, deflated and in base64url. */
export async function squeeze(source: string): Promise<string> {
  const bytes = new TextEncoder().encode(source);
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const packed = new Uint8Array(await new Response(stream).arrayBuffer());
  let text = "";
  for (const byte of packed) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** What `squeeze` made; null when it is none of that. */
export async function unsqueeze(text: string): Promise<string | null> {
  try {
    const packed = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    let size = 0;
    for (const reader = stream.getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      if (size > MOST_BYTES) return null;
      pieces.push(value as Uint8Array<ArrayBuffer>);
    }
    return new TextDecoder("utf-8", { fatal: true }).decode(await new Blob(pieces).arrayBuffer());
  } catch {
    return null;
  }
}
