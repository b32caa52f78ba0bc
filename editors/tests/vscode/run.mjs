/**
 * The extension in the real VS Code: assertions inside the extension host, then a few steps as a person takes them.
 *
 *   TRITIUM_EDITORS_VSCODE=… node run.mjs PACKAGE.vsix OTHER.vsix FAILURES [IMAGES]
 *
 * TRITIUM_TEST_ONLY=host,restricted,person,light runs parts of it, TRITIUM_TEST_MATCH the checks and steps whose name it matches. OTHER is an
 * extension that a person has beside ours. A screenshot of a step that failed goes to FAILURES; with IMAGES the pictures of the documentation are taken there.
 * **Every failure is told, and again at the end. The last line says `N passed, N failed`, and the exit status agrees.**
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { inHost, limited, open } from './lib.mjs';
import { FIRST_FILE, steps } from './person.mjs';
import { openWindow } from './window.mjs';

const [vsix, other, failures, images] = process.argv.slice(2);
let passed = 0;
let failed = 0;
const names = [];
const pass = (name) => ((passed += 1), console.log(`ok   ${name}`));
/** What went wrong stands at the beginning or, where a program tells what it did until then, at the end. */
const shortened = (words) => (words.length > 3000 ? `${words.slice(0, 1200)}\n     […]\n${words.slice(-1800)}` : words);
const fail = (name, error) => {
  failed += 1;
  names.push(name);
  console.log(`FAIL ${name}: ${shortened(String(error?.message ?? error))}`);
};
// Whatever ends the run, what has been found is told.
let isWhole = false;
process.on('exit', () => {
  if (!isWhole) fail('the whole run', 'it was ended before its end');
  for (const name of names) console.log(`failed: ${name}`);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
});

/** Runs one suite of `host/index.js` and takes over its lines. A check during which its host is lost has failed; another host goes on behind it. */
async function suite(name, editor) {
  for (let told = 0; ; ) {
    const code = await inHost(editor);
    const lines = fs.existsSync(editor.results) ? fs.readFileSync(editor.results, 'utf8').split('\n').filter(Boolean) : [];
    for (const line of lines.slice(told)) {
      if (line.startsWith('begin ')) continue;
      if (line.startsWith('ok')) passed += 1;
      else if (line.startsWith('FAIL')) {
        failed += 1;
        names.push(`${name}: ${line.slice(5).split(': ')[0]}`);
      }
      console.log(`${name}: ${line}`);
    }
    const lost = lines.at(-1)?.startsWith('begin ') ? lines.at(-1).slice(6) : undefined;
    if (lost) fail(`${name}: ${lost}`, `the extension host was lost (${code})`);
    else if (lines.length === told || (code !== 0 && !lines.some((line) => line.startsWith('FAIL')))) fail(name, `the extension host ended with ${code} after ${lines.length} lines`);
    if (!lost) return;
    told = lines.length;
  }
}

/** What does not open is told, and hides no check unless it does not open three times. */
async function insistently(name, act) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await act();
    } catch (error) {
      if (attempt === 3) throw error;
      fail(name, error);
    }
  }
}

async function withEditor(name, options, act) {
  const begun = Date.now();
  const seconds = () => Math.round((Date.now() - begun) / 1000);
  const editor = await insistently(`${name}: the editor opens`, () => open({ vsix, ...options }));
  const started = seconds();
  try {
    await act(editor);
  } finally {
    console.log(`-- ${name}: ${seconds()} s, ${started} of them until the editor answers`);
    await editor.close();
  }
}

/** Takes the steps of a person. After one that failed the next has an editor as fresh as the first had. */
async function person(options, suffix) {
  const wanted = new RegExp(process.env.TRITIUM_TEST_MATCH ?? '');
  let window;
  const left = [];
  const end = async () => {
    const last = window;
    window = undefined;
    await last?.editor.close();
  };
  const begin = () =>
    insistently('person: the window opens', async () => {
      await end();
      const editor = await open({ vsix, ...options });
      window = { editor };
      window.seen = await openWindow(editor, { width: 1180, height: 740 });
      await window.seen.start(FIRST_FILE);
      window.steps = steps(editor, window.seen, images, suffix);
    });
  const begun = Date.now();
  try {
    await begin();
    for (const name of Object.keys(window.steps).filter((name) => wanted.test(name))) left.push(name);
    while (left.length > 0) {
      if (window === undefined) await begin();
      const name = left.shift();
      const start = Date.now();
      try {
        await limited(window.steps[name], 10);
        pass(`person: ${name} (${Date.now() - start} ms)`);
      } catch (error) {
        const shot = path.join(failures, `${process.pid}-${name.replaceAll(/\W+/g, '-')}${suffix}.png`);
        await window.seen.page.screenshot({ path: shot }).catch(() => {});
        fail(`person: ${name}`, `${error.message}\n     screenshot: ${shot}`);
        await end();
      }
    }
  } catch (error) {
    fail(`person: no window for ${left.length === 0 ? 'any step' : left.join(', ')}`, error);
  } finally {
    console.log(`-- person: ${Math.round((Date.now() - begun) / 1000)} s`);
    await end();
  }
}

assert.ok(vsix && other && failures, 'usage: run.mjs PACKAGE.vsix OTHER.vsix FAILURES [IMAGES]');
fs.mkdirSync(failures, { recursive: true });
if (images) fs.mkdirSync(images, { recursive: true });
const inside = (name, options) => withEditor(name, options, (editor) => suite(name, editor));
const window = { driven: false, beside: [other] };
for (const [name, act] of Object.entries({
  host: () => inside('host', {}),
  restricted: () => inside('restricted', { trusted: false, env: { TRITIUM_TEST_SUITE: 'restricted' } }),
  person: () => person(window, ''),
  // The same row in a light theme, for the pictures alone.
  light: () => images && person({ ...window, theme: 'Default Light Modern' }, '-light'),
})) {
  if (process.env.TRITIUM_TEST_ONLY && !process.env.TRITIUM_TEST_ONLY.split(',').includes(name)) continue;
  await Promise.resolve(act()).catch((error) => fail(name, error));
}
isWhole = true;
process.exit();
