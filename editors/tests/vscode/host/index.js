/**
 * Assertions that run inside VS Code's extension host, against the installed package.
 *
 * **Every check asks the editor, never the server**: what is asserted is what a person would get.
 * Results go to the file named by TRITIUM_TEST_RESULTS: a line when a check begins, and one when it has ended. What the file tells of already is not
 * run again: a host that was lost is followed by another that goes on behind the check that lost it.
 */
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');

const workspace = process.env.TRITIUM_TEST_WORKSPACE ?? path.join(__dirname, '../ws');
const ask = (command, ...args) => vscode.commands.executeCommand(command, ...args);
const text = (content) => (typeof content === 'string' ? content : content.value);
const label = (hint) => (typeof hint.label === 'string' ? hint.label : hint.label.map((part) => part.value).join(''));

/**
 * Waits until a condition holds, and gives what it answers. One that throws does not hold yet; its last words are told when it never does.
 * One look counts for at most five seconds: a machine that stood still for a minute has not been waited for.
 */
async function until(what, condition, limit = 120_000) {
  for (let left = limit, last = Date.now(); ; ) {
    let failure = '';
    try {
      const value = await condition();
      if (value) return value;
    } catch (error) {
      failure = `: ${error.message}`;
    }
    if (left < 0) throw new Error(`waited in vain until ${what}${failure}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    left -= Math.min(Date.now() - last, 5_000);
    last = Date.now();
  }
}

/** Repeats assertions until they hold: an answer that a newer state of things made pointless is empty, and asked for again it is not. */
const holds = (what, assertions) => until(what, async () => ((await assertions(), true)));

/** Makes a movement until what it is for is there. Each look lasts longer than the one before. */
async function repeated(what, movement, condition) {
  for (let patience = 3_000; ; patience *= 2) {
    await movement();
    try {
      return await until(what, condition, patience);
    } catch (error) {
      if (patience > 90_000) throw error;
    }
  }
}

/** The running servers of this test run, by process. */
function servers() {
  const extension = vscode.extensions.getExtension('tritium.tritium').extensionPath;
  return fs.readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const words = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      return words.includes('lsp') && words.some((word) => word === path.join(extension, 'server/tritium'));
    } catch {
      return false;
    }
  });
}

/** How often the log tells of a request. */
function sent(method) {
  const logs = path.join(process.env.HOME, 'data/logs');
  const texts = fs.readdirSync(logs, { recursive: true }).filter((file) => /Tritium\.log$/.test(file)).map((file) => fs.readFileSync(path.join(logs, file), 'utf8'));
  return texts.join('').split(`Sending request '${method} -`).length - 1;
}

async function show(name) {
  const document = await vscode.workspace.openTextDocument(path.join(workspace, name));
  const editor = await vscode.window.showTextDocument(document);
  return { document, editor, uri: document.uri };
}

/** Where `needle` first stands, moved right by `by`. */
function place(document, needle, by = 0) {
  const offset = document.getText().indexOf(needle);
  assert.ok(offset >= 0, `no ${needle} in ${document.uri.path}`);
  return document.positionAt(offset + by);
}

const whole = (document) => new vscode.Range(0, 0, document.lineCount, 0);
const hover = async (uri, position) => (await ask('vscode.executeHoverProvider', uri, position)).flatMap((one) => one.contents.map(text)).join('\n');
const hints = async ({ uri, document }) => (await ask('vscode.executeInlayHintProvider', uri, whole(document))) ?? [];
const lenses = async (uri) => ((await ask('vscode.executeCodeLensProvider', uri, 100)) ?? []).filter((lens) => lens.command?.command === 'tritium.run');
const nonEmpty = (all) => all.length > 0 && all;
const problems = (uri) => vscode.languages.getDiagnostics(uri);

const trusted = {
  'a plain Python file starts no server': async () => {
    const { uri } = await show('plain.py');
    const extension = vscode.extensions.getExtension('tritium.tritium');
    await until('the extension is active', () => extension.isActive);
    assert.deepEqual(servers(), []);
    assert.deepEqual(problems(uri), []);
  },
  'a shape error is marked with code, source and page': async () => {
    const { uri, document } = await show('broken.py');
    const [problem] = await until('a problem appears', () => nonEmpty(problems(uri)));
    assert.equal(problem.source, 'tritium');
    assert.equal(problem.code.value, 'SHP001');
    assert.match(problem.code.target.toString(), /SHP001/);
    assert.equal(problem.severity, vscode.DiagnosticSeverity.Error);
    assert.match(problem.message, /128/);
    assert.match(problem.message, /64/);
    assert.ok(problem.range.contains(place(document, 'x + y', 2)), 'it stands at the addition');
    await until('one server runs', () => servers().length === 1);
  },
  'the mistake is told once': async () => {
    const { uri } = await show('broken.py');
    // A second report, from a server that both pushes and is asked, would come with the next edit.
    const { document, editor } = await show('broken.py');
    await editor.edit((edit) => edit.insert(new vscode.Position(document.lineCount, 0), '\n'));
    await until('it is told again', async () => (await hints({ uri, document })) && problems(uri).length > 0);
    assert.equal(problems(uri).length, 1, JSON.stringify(problems(uri)));
  },
  'its quick fix applies and the mistake goes': async () => {
    const { uri, document } = await show('broken.py');
    const [problem] = await until('a problem appears', () => nonEmpty(problems(uri)));
    const fix = await until('a quick fix is offered', async () => {
      const actions = await ask('vscode.executeCodeActionProvider', uri, problem.range, 'quickfix', 100);
      return actions.find((action) => action.edit !== undefined && action.kind?.contains(vscode.CodeActionKind.QuickFix));
    });
    const before = document.getText();
    assert.ok(await vscode.workspace.applyEdit(fix.edit));
    assert.notEqual(document.getText(), before);
    await until('the problem goes', () => problems(uri).length === 0);
  },
  'the mistake comes back with its text': async () => {
    const { uri } = await show('broken.py');
    await ask('workbench.action.files.revert');
    await until('the problem is back', () => problems(uri).length === 1);
  },
  'a good kernel has no problems': async () => {
    const file = await show('softmax.py');
    await until('hints appear', async () => (await hints(file)).length > 0);
    assert.deepEqual(problems(file.uri).map((problem) => problem.message), []);
  },
  'hover on a value tells its type and shape': async () => {
    const { uri, document } = await show('softmax.py');
    await holds('a hover tells it', async () => assert.match(await hover(uri, place(document, 'x = tl.load')), /x: f32\[1024\]/));
  },
  'hover on a kernel tells what it costs': async () => {
    const { uri, document } = await show('softmax.py');
    await holds('a hover tells it', async () => {
      const words = await hover(uri, place(document, 'def softmax', 5));
      // Three lines, and the way to the rest.
      const lines = words.trim().split('\n').filter((line) => line !== '');
      assert.equal(lines.length, 4, words);
      assert.match(lines[0], /^\*\*memory bound\*\*, ~[\d.]+ µs on H100 \(estimated\) · launch `/);
      assert.match(lines[1], /^\d+ registers, no spills \(exact, ptxas\) · .* shared memory \(exact\) · \d+ % occupancy, limited by \w+ \(exact\)/);
      assert.match(lines[2], /estimated/);
      assert.match(lines[3], /^\[Report\]\(command:tritium\.showReport\?/);
    });
  },
  'the link of a hover opens the report, which follows the text': async () => {
    const file = await show('softmax.py');
    const [, name, argument] = await until('a link', async () => /\(command:([\w.]+)\?([^)]*)\)/.exec(await hover(file.uri, place(file.document, 'def softmax', 5))));
    await ask(name, ...JSON.parse(decodeURIComponent(argument)));
    const report = () => vscode.workspace.textDocuments.find((open) => open.uri.scheme === 'tritium-report');
    const page = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs).find((tab) => tab.label.includes('softmax.md'));
    await until('its page is open', () => report() && page());
    const words = report().getText();
    for (const fact of [/shared/i, /registers/i, /occupancy/i, /FLOP/, /bytes/i, /intensity/i, /memory bound/, /exact/, /estimated/, /tritium/i, /The time assumes/]) assert.match(words, fact);
    assert.doesNotMatch(words, /^\|.*\|$/m, 'no tables: some editors show them raw');
    await ask('tritium.chooseGpu', 'A100');
    await until('it follows', () => /on A100 \(estimated\)/.test(report().getText()));
    await ask('tritium.chooseGpu', '');
    await until('it follows back', () => /on H100 \(estimated\)/.test(report().getText()));
    await vscode.window.tabGroups.close(page());
  },
  'inlay hints show shapes': async () => {
    const file = await show('softmax.py');
    const line = place(file.document, 'x = tl.load').line;
    await holds('the shape stands there', async () => {
      assert.deepEqual((await hints(file)).filter((hint) => hint.position.line === line).map((hint) => label(hint).trim()), [': f32[1024]']);
    });
  },
  'an inlay hint on the def line shows the roofline': async () => {
    const file = await show('softmax.py');
    const line = place(file.document, 'def softmax').line;
    await holds('the bound stands there', async () => {
      const words = (await hints(file)).filter((hint) => hint.position.line === line).map(label);
      assert.ok(words.some((word) => /memory|compute|bound/i.test(word)), JSON.stringify(words));
    });
  },
  'a lens runs the launch and the result is verified': async () => {
    const { uri } = await show('softmax.py');
    const [lens] = await until('a lens', async () => nonEmpty(await lenses(uri)));
    assert.equal(lens.command.title, '▶ Run');
    assert.equal(lens.command.arguments[0].kernel, 'softmax');
    const outcome = await ask(lens.command.command, ...lens.command.arguments);
    assert.equal(outcome.ok, true, outcome.text);
    assert.match(outcome.text, /verified/i);
    assert.match(outcome.text, /f32\[256, 1000\]/);
  },
  'the command runs the kernel at the cursor': async () => {
    const { document, editor } = await show('softmax.py');
    const position = place(document, 'numerator = ');
    editor.selection = new vscode.Selection(position, position);
    const { ok, text: told } = await until('it has run', () => ask('tritium.runKernel'));
    assert.equal(ok, true, told);
  },
  'what a run under checks finds is marked, until it is mended': async () => {
    const { uri, document, editor } = await show('softmax.py');
    const line = place(document, 'tl.store').line;
    const before = document.lineAt(line).text;
    const whole = () => document.lineAt(line).range;
    await editor.edit((edit) => edit.replace(whole(), before.replace(/, mask=[^)]*\)/, ')')));
    const position = new vscode.Position(line, 4);
    editor.selection = new vscode.Selection(position, position);
    const { ok, text: told } = await until('it has run', () => ask('tritium.sanitizeKernel'));
    assert.equal(ok, false, told);
    const found = () => vscode.languages.getDiagnostics(uri).some((one) => (one.code?.value ?? one.code) === 'SAN001' && one.range.start.line === line);
    await until('it is marked', async () => found());
    await editor.edit((edit) => edit.replace(whole(), before));
    await until('it goes', async () => !found());
    await vscode.commands.executeCommand('workbench.action.files.revert');
  },
  'a lens times the launch': async () => {
    const { uri } = await show('softmax.py');
    const of = (command) => async () => nonEmpty((await ask('vscode.executeCodeLensProvider', uri, 100)).filter((lens) => lens.command?.command === command));
    const [lens] = await until('a lens', of('tritium.bench'));
    assert.equal(lens.command.title, 'Bench');
    const outcome = await ask(lens.command.command, ...lens.command.arguments);
    assert.equal(outcome.ok, true, outcome.text);
    assert.match(outcome.text, /warm µs/);
    assert.ok(outcome.rows[0].timing.warm.median_us > 0, JSON.stringify(outcome.rows));
  },
  'a lens tunes the launch': async () => {
    const { uri } = await show('tuned.py');
    const of = (command) => async () => nonEmpty((await ask('vscode.executeCodeLensProvider', uri, 100)).filter((lens) => lens.command?.command === command));
    const [lens] = await until('a lens', of('tritium.tune'));
    const outcome = await ask(lens.command.command, ...lens.command.arguments);
    assert.equal(outcome.ok, true, outcome.text);
    assert.match(outcome.text, /best: .*\n(.*\n)*.*Nothing was timed/);
    assert.ok(outcome.launches[0].rows.length > 1, JSON.stringify(outcome.launches));
    assert.equal(outcome.write, 'Write 1 predicted row into tuned.py');
  },
  'the commands time and tune the kernel at the cursor': async () => {
    for (const [name, words, command, said] of [['softmax.py', 'numerator = ', 'tritium.benchKernel', /warm µs/], ['tuned.py', 'total = tl.dot', 'tritium.tuneKernel', /best: /]]) {
      const { document, editor } = await show(name);
      const position = place(document, words);
      editor.selection = new vscode.Selection(position, position);
      const { ok, text: told } = await until('it is done', () => ask(command));
      assert.equal(ok, true, told);
      assert.match(told, said);
    }
  },
  'what was measured is remembered: bars in the hover, and a chart of every run': async () => {
    const { uri, document, editor } = await show('softmax.py');
    const position = place(document, 'def softmax', 4);
    editor.selection = new vscode.Selection(position, position);
    // Twice is a history.
    for (let run = 0; run < 2; run += 1) await until('it is timed', () => ask('tritium.benchKernel'));
    // The hover's own lines are about the board that is looked at; the processor is told behind its link.
    const [, name, argument] = await until('a link', async () => /\(command:([\w.]+)\?([^)]*)\)/.exec(await hover(uri, position)));
    await ask(name, ...JSON.parse(decodeURIComponent(argument)));
    const report = () => vscode.workspace.textDocuments.find((open) => open.uri.scheme === 'tritium-report')?.getText() ?? '';
    await until('the report tells it', () => /measured \S+ on cpu: `[▁▂▃▄▅▆▇█]{2,}`/.test(report()));
    await ask('workbench.action.closeActiveEditor');
    await show('softmax.py');
    await ask('tritium.showHistory');
    const page = await until('the chart is there', async () => {
      const page = vscode.extensions.getExtension('tritium.tritium').exports.chart('history');
      return page && /<svg/.test(page) && page;
    });
    assert.match(page, /softmax/);
    await ask('workbench.action.closeActiveEditor');
  },
  'launches are tests that pass, fail and can be cancelled': async () => {
    const came = (file, state) => async () => vscode.extensions.getExtension('tritium.tritium').exports.launches().some((line) => line.startsWith(`${file} `) && line.endsWith(state));
    const { document, editor } = await show('softmax.py');
    // A lens may have run it before.
    await until('the launch is in the tree', came('softmax.py', ''));
    await repeated('it passes', () => ask('testing.runCurrentFile'), came('softmax.py', 'run passed'));
    const at = place(document, 'tl.store');
    const before = document.lineAt(at.line).text;
    await editor.edit((edit) => edit.replace(document.lineAt(at.line).range, before.replace(' y,', ' 2 * y,')));
    await repeated('it fails', () => ask('testing.runCurrentFile'), came('softmax.py', 'run failed'));
    await ask('workbench.action.files.revert');

    const file = path.join(workspace, 'endless.py');
    fs.copyFileSync(path.join(__dirname, '../endless.py'), file);
    try {
      await show('endless.py');
      await until('it is in the tree', came('endless.py', 'unknown'));
      const [server] = servers();
      const running = () => fs.readdirSync('/proc').filter((pid) => {
        try {
          return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').endsWith('\0exec\0') && fs.readFileSync(`/proc/${pid}/status`, 'utf8').includes(`PPid:\t${server}\n`);
        } catch {
          return false;
        }
      });
      await repeated('it runs', async () => void ask('testing.runCurrentFile'), async () => running().length > 0);
      await ask('testing.cancelRun');
      await until('it is cancelled', came('endless.py', 'cancelled'));
      await until('nothing is left', () => running().length === 0);
    } finally {
      await ask('workbench.action.closeActiveEditor');
      // The results opened a panel, which takes room from what comes after.
      await ask('workbench.action.closePanel');
      fs.rmSync(file);
    }
  },
  'switches turn features off': async () => {
    const file = await show('softmax.py');
    const settings = vscode.workspace.getConfiguration('tritium');
    const set = (name, value) => settings.update(name, value, vscode.ConfigurationTarget.Global);
    const shapes = async () => (await hints(file)).filter((hint) => label(hint).includes('f32[')).length;
    const rooflines = async () => (await hints(file)).filter((hint) => !label(hint).includes('[')).length;
    const kernel = place(file.document, 'def softmax', 5);
    for (const [name, count] of [
      ['inlayHints.shapes', shapes],
      ['inlayHints.roofline', rooflines],
      ['codeLens.enable', async () => (await lenses(file.uri)).length],
      ['hover.enable', async () => (await hover(file.uri, kernel)).length],
    ]) {
      await until(`${name} shows something`, async () => (await count()) > 0);
      await set(name, false);
      await until(`${name} off shows nothing`, async () => (await count()) === 0);
      await set(name, undefined);
      await until(`${name} on shows something again`, async () => (await count()) > 0);
    }
  },
  'a plain Python file stays silent beside a running server': async () => {
    const file = await show('plain.py');
    assert.deepEqual(await hints(file), []);
    assert.deepEqual(await lenses(file.uri), []);
    assert.equal(await hover(file.uri, place(file.document, 'total')), '');
    assert.deepEqual(problems(file.uri), []);
  },
  ...require('./views.js')({ ask, holds, hover, hints, place, repeated, show, until }),
  ...require('./language.js')({ ask, holds, hover, hints, label, lenses, place, problems, show, until }),
  'restarting leaves one server that works': async () => {
    const { uri, document } = await show('softmax.py');
    const [before] = await until('one server runs', () => servers().length === 1 && servers());
    await ask('tritium.restartServer');
    await until('hover works again', async () => /f32\[1024\]/.test(await hover(uri, place(document, 'x = tl.load'))));
    await until('one server is left', () => servers().length === 1);
    assert.notEqual(servers()[0], before);
  },
  'a server that dies is replaced': async () => {
    const { uri, document } = await show('softmax.py');
    const [before] = await until('one server runs', () => servers().length === 1 && servers());
    process.kill(Number(before), 'SIGKILL');
    await until('another server runs', () => servers().some((pid) => pid !== before));
    await until('hover works again', async () => /f32\[1024\]/.test(await hover(uri, place(document, 'x = tl.load'))));
  },
  'the trace setting alone fills the log': async () => {
    const { uri, document } = await show('softmax.py');
    const settings = vscode.workspace.getConfiguration('tritium');
    assert.equal(sent('textDocument/hover'), 0, 'nothing is traced before');
    await settings.update('trace.server', 'messages', vscode.ConfigurationTarget.Global);
    await until('a hover is traced', async () => (await hover(uri, place(document, 'x = tl.load'))) && sent('textDocument/hover') > 0);
    await settings.update('trace.server', undefined, vscode.ConfigurationTarget.Global);
  },
  'hints bring their explanations along': async () => {
    const file = await show('softmax.py');
    const settings = vscode.workspace.getConfiguration('tritium');
    await settings.update('trace.server', 'messages', vscode.ConfigurationTarget.Global);
    const [questions, before] = [sent('textDocument/inlayHint'), sent('inlayHint/resolve')];
    await until('hints are asked for', async () => (await hints(file)).length > 0 && sent('textDocument/inlayHint') > questions);
    const all = await until('hints are there', async () => nonEmpty(await hints(file)));
    for (const hint of all) assert.match(hint.tooltip ? text(hint.tooltip) : '', /\S/, label(hint));
    assert.equal(sent('inlayHint/resolve'), before, 'none is asked for later');
    await settings.update('trace.server', undefined, vscode.ConfigurationTarget.Global);
  },
  'colours follow the text without asking for all of them again': async () => {
    const { document, editor } = await show('softmax.py');
    const settings = vscode.workspace.getConfiguration('tritium');
    await settings.update('trace.server', 'messages', vscode.ConfigurationTarget.Global);
    const type = () => editor.edit((edit) => edit.insert(place(document, '@triton.jit'), '# Typed above.\n'));
    const deltas = () => sent('textDocument/semanticTokens/full/delta');
    const changeIsAskedFor = () => {
      const before = deltas();
      return repeated('what changed is asked for', type, () => deltas() > before);
    };
    // Before the first of them the editor may not have had an answer about the whole text yet.
    await changeIsAskedFor();
    const wholes = sent('textDocument/semanticTokens/full');
    await changeIsAskedFor();
    assert.equal(sent('textDocument/semanticTokens/full'), wholes);
    await settings.update('trace.server', undefined, vscode.ConfigurationTarget.Global);
    await ask('workbench.action.files.revert');
  },
  'the cells of a notebook are one program, and each is told its own': async () => {
    const notebook = await vscode.workspace.openNotebookDocument(vscode.Uri.file(path.join(workspace, 'softmax_rows.ipynb')));
    const shown = await vscode.window.showNotebookDocument(notebook);
    const cell = (words) => notebook.getCells().find((one) => one.document.getText().includes(words)).document;
    const [setup, kernel] = [cell('LANES = '), cell('def softmax')];
    const put = async (document, before, now) => {
      const edit = new vscode.WorkspaceEdit();
      edit.replace(document.uri, new vscode.Range(place(document, before), place(document, before, before.length)), now);
      assert.ok(await vscode.workspace.applyEdit(edit));
    };
    const [problem] = await until('a problem appears', () => nonEmpty(problems(kernel.uri)));
    assert.deepEqual([problem.code.value, kernel.getText(problem.range)], ['DTY011', 'at']);
    await holds('a hover tells it', async () => assert.match(await hover(kernel.uri, place(kernel, 'powers = ')), /powers: f32\[256\]/));
    await holds('shapes stand there', async () => {
      const shapes = (await hints({ uri: kernel.uri, document: kernel })).map((hint) => `${hint.position.line} ${label(hint).trim()}`);
      for (const shape of ['2 : i32[256]', '4 : f32[256]', '5 : f32[256]']) assert.ok(shapes.includes(shape), shapes.join(', '));
    });
    const [lens] = await until('a lens', async () => nonEmpty(await lenses(kernel.uri)));
    assert.equal(lens.command.arguments[0].kernel, 'softmax');
    const fix = await until('a quick fix is offered', async () => {
      const actions = await ask('vscode.executeCodeActionProvider', kernel.uri, problem.range, 'quickfix', 100);
      return actions.find((action) => action.edit !== undefined);
    });
    assert.ok(await vscode.workspace.applyEdit(fix.edit));
    // It compiles now, and the launch of another cell says what it does.
    await until('another problem comes', () => problems(kernel.uri).map((one) => one.code.value).join() === 'MSK012');
    await put(kernel, 'mask=at != 0', 'mask=at < columns');
    await until('the problem goes', () => problems(kernel.uri).length === 0);
    // The other cells decide what this one means.
    await put(setup, '256', '250');
    await until('another problem comes', () => problems(kernel.uri).some((one) => one.code.value === 'SHP002'));
    await put(setup, '250', '128');
    await holds('the hover follows', async () => assert.match(await hover(kernel.uri, place(kernel, 'powers = ')), /powers: f32\[128\]/));
    const outcome = await ask(lens.command.command, ...lens.command.arguments);
    assert.equal(outcome.ok, true, outcome.text);
    const { looks } = vscode.extensions.getExtension('tritium.tritium').exports;
    const at = notebook.getCells().find((one) => one.document === kernel).index;
    shown.selection = new vscode.NotebookRange(at, at + 1);
    await until('the status bar knows the selected cell', () => /^softmax: /.test(looks()?.tooltip ?? '') && /H100 · Triton 3/.test(looks()?.text ?? ''));
    // A cell that goes takes what was said of it along.
    await put(setup, '128', '250');
    await until('a problem is back', () => problems(kernel.uri).length > 0);
    const edit = new vscode.WorkspaceEdit();
    edit.set(notebook.uri, [vscode.NotebookEdit.deleteCells(new vscode.NotebookRange(at, at + 1))]);
    assert.ok(await vscode.workspace.applyEdit(edit));
    await until('nothing is said of it', () => problems(kernel.uri).length === 0);
    await ask('workbench.action.revertAndCloseActiveEditor');
  },
  'a wrong server path is told, not worked around': async () => {
    const { uri, document } = await show('softmax.py');
    const settings = vscode.workspace.getConfiguration('tritium');
    await settings.update('server.path', '~/no/such/tritium', vscode.ConfigurationTarget.Global);
    await until('the server is gone', () => servers().length === 0);
    assert.match(await ask('tritium.showVersion'), /no server found/);
    await settings.update('server.path', undefined, vscode.ConfigurationTarget.Global);
    await until('hover works again', async () => /f32\[1024\]/.test(await hover(uri, place(document, 'x = tl.load'))));
  },
  'the version names the bundled server': async () => {
    assert.match(await ask('tritium.showVersion'), /tritium \S+, bundled: .*server\/tritium/);
  },
};

const restricted = {
  'a restricted workspace is checked, by the bundled server': async () => {
    assert.equal(vscode.workspace.isTrusted, false);
    const { uri } = await show('broken.py');
    await until('a problem appears', () => problems(uri).length === 1);
    assert.match(await ask('tritium.showVersion'), /bundled/);
  },
  'a restricted workspace runs nothing': async () => {
    const { uri } = await show('softmax.py');
    const [lens] = await until('a lens', async () => nonEmpty(await lenses(uri)));
    assert.equal(await ask(lens.command.command, ...lens.command.arguments), undefined);
  },
};

/** The state that every check finds: the files as they are in the fixtures, no editor, no setting. */
async function restore() {
  const pristine = path.join(__dirname, '../pristine');
  for (const { document } of vscode.window.visibleTextEditors) if (document.isDirty) await vscode.window.showTextDocument(document).then(() => ask('workbench.action.files.revert'));
  await ask('workbench.action.closeQuickOpen');
  await ask('workbench.action.revertAndCloseActiveEditor');
  await ask('workbench.action.closeAllEditors');
  for (const name of fs.readdirSync(workspace)) if (!fs.existsSync(path.join(pristine, name)) && name.endsWith('.py')) fs.rmSync(path.join(workspace, name));
  fs.cpSync(pristine, workspace, { recursive: true });
  const { properties } = vscode.extensions.getExtension('tritium.tritium').packageJSON.contributes.configuration;
  for (const name of Object.keys(properties)) {
    const { globalValue, workspaceValue } = vscode.workspace.getConfiguration().inspect(name);
    if (globalValue !== undefined) await vscode.workspace.getConfiguration().update(name, undefined, vscode.ConfigurationTarget.Global);
    if (workspaceValue !== undefined) await vscode.workspace.getConfiguration().update(name, undefined, vscode.ConfigurationTarget.Workspace);
  }
}

/** Rejects where something does not end: a check that hangs must not hide those behind it. */
function limited(act, minutes) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`it has not ended after ${minutes} minutes`)), minutes * 60_000)));
  return Promise.race([act(), late]).finally(() => clearTimeout(timer));
}

exports.run = async () => {
  let failed = 0;
  const results = process.env.TRITIUM_TEST_RESULTS;
  const begun = new Set(fs.existsSync(results) ? fs.readFileSync(results, 'utf8').split('\n') : []);
  const wanted = new RegExp(process.env.TRITIUM_TEST_MATCH ?? '');
  const all = Object.entries(process.env.TRITIUM_TEST_SUITE === 'restricted' ? restricted : trusted);
  // A line all the same, by which a host that does nothing is told from one that did not begin.
  if (!all.some(([name]) => wanted.test(name))) fs.appendFileSync(results, `-- no check matches ${wanted}\n`);
  for (const [name, check] of all) {
    if (!wanted.test(name) || begun.has(`begin ${name}`)) continue;
    fs.appendFileSync(results, `begin ${name}\n`);
    const start = Date.now();
    let line;
    try {
      await limited(check, 10);
      line = `ok   ${name} (${Date.now() - start} ms)`;
    } catch (error) {
      failed += 1;
      line = `FAIL ${name}: ${error.message.replaceAll('\n', '\n     ')}`;
      await limited(restore, 1).catch((why) => (line += `\n     and what it left could not be put right: ${why.message}`));
    }
    fs.appendFileSync(results, `${line}\n`);
  }
  if (failed > 0) throw new Error(`${failed} failed`);
};
