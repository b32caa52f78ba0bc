/**
 * The first minutes with Tritium: a fresh profile, the packaged extension, and a kernel that nobody prepared.
 *
 *   TRITIUM_EDITORS_VSCODE=… node first-minutes.mjs PACKAGE.vsix KERNEL.py LAUNCH.txt DOCS
 *
 * LAUNCH.txt is what the person types at the end of the file. DOCS/first-minutes.md tells what was reached when, with the pictures in
 * DOCS/images/first-minutes. **Nothing is waited for but what the person would wait for.**
 */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { open, poll, screenshot, until } from './lib.mjs';
import { openWindow } from './window.mjs';

const [vsix, kernel, launch, docs] = process.argv.slice(2);
const folder = path.join(docs, 'images/first-minutes');
fs.mkdirSync(folder, { recursive: true });
const begin = Date.now();
const editor = await open({ vsix, driven: false });
const steps = [];
const name = path.basename(kernel);
fs.copyFileSync(kernel, path.join(editor.folder, name));
const w = await openWindow(editor, { width: 1280, height: 800 });
const { page, webview } = w;
const reached = async (what, picture) => {
  steps.push({ what, seconds: Math.round((Date.now() - begin) / 100) / 10, picture });
  console.log(`${steps.at(-1).seconds} s  ${what}`);
  if (picture) {
    // What is over leaves the screen.
    await w.gone('nothing runs', w.toast('Running'));
    await page.waitForTimeout(500);
    await screenshot(page, path.join(folder, picture));
  }
};
try {
  await reached('the extension is installed in a fresh profile');
  await w.start(name);
  await reached('the editor shows the file');
  await w.seen('the status bar knows it', w.statusItem('Triton'));
  await reached('Tritium knows the file', undefined);
  const definition = /kernel = "(\w+)"/.exec(fs.readFileSync(launch, 'utf8'))[1];
  await w.cursorOn(name, `def ${definition}(`);
  await w.seen('shapes stand in the text', w.hint(/:\s(f32|bf16|f16|i32)\[/));
  await reached('shapes stand beside the tiles', 'shapes.webp');
  await w.pointAt('the kernel tells its cost', w.line(`def ${definition}(`).locator('span span', { hasText: new RegExp(`^\\s*${definition}$`) }), /registers/i);
  await reached('the hover tells registers, shared memory and occupancy', 'cost.webp');
  await w.hideCards();
  // The person says how the kernel is launched.
  await page.keyboard.press('Control+End');
  await page.keyboard.insertText(`\n\n${fs.readFileSync(launch, 'utf8')}`);
  await w.cursorOn(name, `def ${definition}(`);
  await w.seen('the lens stands in the text', w.lens);
  await reached('a launch block is written, and ▶ Run stands above the kernel', 'launch.webp');
  await w.command('Tritium: Show Configurations', w.isVisible(webview().locator('table')));
  await poll(async () => !/still being compiled/.test(await webview().locator('body').innerText()), 240_000, 'all figures are exact');
  await w.aside();
  await reached('the matrix compares the launches, with exact registers', 'configurations.webp');
  await until('the kernel runs', () => w.lens.first().click(), w.isVisible(w.toast(/running|verified|ran/i)));
  await w.seen('it has run', w.toast(/verified|ran/i));
  await reached('the kernel has run on the CPU and its result is verified', 'run.webp');
} catch (error) {
  await page.screenshot({ path: path.join(folder, 'failure.png') }).catch(() => {});
  console.error(error);
  process.exitCode = 1;
} finally {
  await editor.close();
}
if (process.exitCode === undefined) {
  const load = fs.readFileSync('/proc/loadavg', 'utf8').split(' ')[0];
  const cores = spawnSync('nproc', { encoding: 'utf8' }).stdout.trim();
  const server = spawnSync(process.env.TRITIUM_BIN, ['--version'], { encoding: 'utf8' }).stdout.trim();
  const shot = ({ what, picture }) => (picture ? `\n![${what}](images/first-minutes/${picture})\n` : '');
  fs.writeFileSync(
    path.join(docs, 'first-minutes.md'),
    `# The first minutes

A fresh profile of VS Code, the packaged extension, and \`${name}\`, a file of kernels that nobody prepared for Tritium. A script takes the steps that
a person would; seconds count from the start of the editor. Taken on ${cores} cores under a load of ${load}, with ${server}
(${process.env.TRITIUM_BUILD ?? 'release build'}), by \`editors/first-minutes.sh\`.

| reached | after |
|---|---:|
${steps.map(({ what, seconds }) => `| ${what} | ${seconds.toFixed(1)} s |`).join('\n')}
${steps.map(shot).join('')}
The launch block says how the kernel is launched, since the file itself leaves that to its callers:

\`\`\`python
${fs.readFileSync(launch, 'utf8').trim()}
\`\`\`
`,
  );
}
