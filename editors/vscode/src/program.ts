/**
 * Which `tritium` program serves this window.
 *
 * The order is: the setting, the one bundled with the extension, the one on `PATH`.
 * **A program is used only after it has answered `--version`.**
 */
import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const NAME = process.platform === 'win32' ? 'tritium.exe' : 'tritium';

export interface Program {
  path: string;
  /** What it answered to `--version`, such as `tritium 0.1.0`. */
  version: string;
  origin: 'setting' | 'bundled' | 'PATH';
}

export interface Missing {
  /** One sentence for each place that was tried. */
  tried: string[];
}

export async function find(setting: string, extensionPath: string): Promise<Program | Missing> {
  const tried: string[] = [];
  const candidates: [Program['origin'], string][] =
    setting !== ''
      ? // A path somebody wrote down is meant: falling back from it would hide their mistake.
        [['setting', setting.replace(/^~(?=[/\\]|$)/, homedir())]]
      : [['bundled', join(extensionPath, 'server', NAME)], ...onPath().map((path): ['PATH', string] => ['PATH', path])];
  for (const [origin, path] of candidates) {
    try {
      await access(path, constants.X_OK);
    } catch {
      if (origin !== 'PATH') tried.push(`${path} (${origin}) is not a program that can be run.`);
      continue;
    }
    try {
      const { stdout } = await run(path, ['--version'], { timeout: 20_000, windowsHide: true });
      const version = stdout.trim();
      if (version.startsWith('tritium ')) return { path, version, origin };
      tried.push(`${path} (${origin}) answered "${version.slice(0, 80)}" to --version and is not Tritium.`);
    } catch (error) {
      tried.push(`${path} (${origin}) did not answer --version: ${error instanceof Error ? error.message.trim() : String(error)}.`);
    }
  }
  if (setting === '') tried.push('No `tritium` on PATH.');
  return { tried };
}

function onPath(): string[] {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, NAME));
}
