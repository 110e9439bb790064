/**
 * A program in the address: `#z=` holds it deflated and in base64url, `#code=` as it is.
 *
 * The part after the hash never reaches a server.
 */

/** What an address says: a program, the step to show, the seed of its random numbers (0 unless it says so). */
export interface Link {
  readonly source: string | null;
  readonly step: number | null;
  readonly seed: number;
}

/** A decompressed program larger than this is no program of ours. */
const MOST_BYTES = 1 << 20;

/** The hash of an address for a program, a step and a seed. */
export async function linkTo(source: string, step: number | null, seed = 0): Promise<string> {
  const packed = await squeeze(new TextEncoder().encode(source));
  return `#z=${packed}${seed === 0 ? "" : `&seed=${seed}`}${step === null ? "" : `&step=${step}`}`;
}

/** Reads a hash. A program that cannot be read is null: the caller says so. */
export async function readLink(hash: string): Promise<Link> {
  const parts = new URLSearchParams(hash.replace(/^#/, "").replaceAll("+", "%2B"));
  const [packed, code] = [parts.get("z"), parts.get("code")];
  const source = packed === null ? code : await unpack(packed);
  return { source, step: stepOf(parts), seed: seedOf(parts) };
}

/** True when an address carries a program. */
export function carriesProgram(hash: string): boolean {
  return /[#&](z|code)=/.test(hash);
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

async function squeeze(bytes: Uint8Array): Promise<string> {
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const packed = new Uint8Array(await new Response(stream).arrayBuffer());
  let text = "";
  for (const byte of packed) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpack(text: string): Promise<string | null> {
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
