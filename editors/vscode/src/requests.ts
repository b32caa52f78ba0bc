/**
 * The requests that the language server protocol has no name for, typed.
 *
 * **What cannot be shown comes back as a sentence for the person (`problem`), never as an exception.**
 */
import { type Position, type Uri, workspace } from 'vscode';
import type { Server } from './server';

/** What a view or a chart is about. Without a kernel it is the one at the position; without a configuration the active one. */
export interface Target {
  uri: string;
  kernel?: string;
  configuration?: string;
}

export const STAGES = {
  tree: { label: 'Syntax Tree', language: 'tritium-tile', extension: 'tree' },
  items: { label: 'Items', language: 'python', extension: 'items.py' },
  source: { label: 'Typed Source', language: 'python', extension: 'typed.py' },
  tile: { label: 'Tile IR', language: 'tritium-tile', extension: 'tile' },
  passes: { label: 'Tile IR after Every Pass', language: 'tritium-tile', extension: 'passes.tile' },
  layout: { label: 'Tile IR with Layouts', language: 'tritium-tile', extension: 'layouts.tile' },
  llvm: { label: 'LLVM IR', language: 'tritium-tile', extension: 'll' },
  ptx: { label: 'PTX', language: 'tritium-ptx', extension: 'ptx' },
  sass: { label: 'SASS', language: 'tritium-sass', extension: 'sass' },
  triton_ttgir: { label: "Triton's TTGIR", language: 'tritium-tile', extension: 'triton.ttgir' },
  triton_ptx: { label: "Triton's PTX", language: 'tritium-ptx', extension: 'triton.ptx' },
  triton_sass: { label: "Triton's SASS", language: 'tritium-sass', extension: 'triton.sass' },
} as const;

export type Stage = keyof typeof STAGES;

export interface Problem {
  problem: string;
}

export interface View {
  title: string;
  kernel: string | null;
  configuration: string | null;
  text: string;
  /** For each line of the text the lines of the source it comes from, the place itself first. */
  lines: number[][];
}

export interface Chart {
  title: string;
  svg: string;
  text: string;
  /** The configuration that is looked at, where the chart shows several. */
  active?: string;
}

export interface Report {
  title: string;
  kernel: string;
  /** Markdown. */
  text: string;
}

export interface Column {
  id: string;
  label: string;
  /** The label without what has rows of its own. */
  head: string;
  is_active: boolean;
  fits: boolean | null;
  spills: boolean | null;
  problem: string | null;
}

export interface Matrix {
  kernel: string;
  gpu: string;
  columns: Column[];
  rows: { name: string; cells: string[]; best: number[] }[];
  pending: number;
  note: string;
}

export interface Choice {
  id: string;
  label: string;
  detail: string;
  is_active: boolean;
}

export interface Choices {
  kernel: string | null;
  configurations: Choice[];
  gpus: Choice[];
  tritons: Choice[];
  /** What of the file is not checked: `2 Gluon kernels`. */
  unchecked?: string[];
}

interface Answers {
  'tritium/view': View;
  'tritium/configurations': Matrix;
  'tritium/occupancy': Chart;
  'tritium/roofline': Chart;
  'tritium/layout': Chart;
  'tritium/history': Chart;
  'tritium/report': Report;
  'tritium/choices': Choices;
}

export function isProblem(answer: object): answer is Problem {
  return typeof (answer as Problem).problem === 'string';
}

/** The codes of an answer that a newer text made pointless: asked again, it is answered for that text. */
const OUTDATED = new Set([-32801, -32802, -32800]);

export async function ask<M extends keyof Answers>(
  server: Server,
  method: M,
  target: Target,
  more: { position?: Position; stage?: Stage; wait?: boolean } = {},
): Promise<Answers[M] | Problem> {
  const client = await server.running();
  if (client === undefined) return { problem: 'No server is running. See the Tritium log.' };
  const position = more.position === undefined ? undefined : client.code2ProtocolConverter.asPosition(more.position);
  const params = { textDocument: { uri: target.uri }, kernel: target.kernel, configuration: target.configuration, ...more, position };
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await client.sendRequest<Answers[M] | Problem>(method, params);
    } catch (error) {
      const code = (error as { code?: number }).code;
      if (code === undefined || !OUTDATED.has(code) || attempt >= 5) return { problem: error instanceof Error ? error.message : String(error) };
      await new Promise((resolve) => setTimeout(resolve, 60 * (attempt + 1)));
    }
  }
}

export function targetOf(uri: Uri, kernel?: string, configuration?: string): Target {
  return { uri: uri.toString(), kernel, configuration };
}

/** The file that a document is of: the notebook of a cell, else itself. What changes one cell changes what others mean. */
export function fileOf(uri: string): string {
  const holds = workspace.notebookDocuments.find((notebook) => notebook.getCells().some((cell) => cell.document.uri.toString() === uri));
  return holds?.uri.toString() ?? uri;
}

/** Calls the last of several calls in a row, once it has been quiet for a while. */
export function debounced<A extends unknown[]>(milliseconds: number, act: (...args: A) => void): ((...args: A) => void) & { dispose(): void } {
  let timer: NodeJS.Timeout | undefined;
  const later = (...args: A) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...args), milliseconds);
  };
  return Object.assign(later, { dispose: () => clearTimeout(timer) });
}
