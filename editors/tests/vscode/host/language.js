/**
 * The requests of the protocol as the editor makes them: first beside a Python server, as by default, then without one.
 *
 * **Every check asks the editor, and changes made to a file are taken back.**
 */
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');

module.exports = ({ ask, holds, hover, hints, label, lenses, place, problems, show, until }) => {
  const settings = () => vscode.workspace.getConfiguration('tritium');
  const set = (name, value) => settings().update(name, value, vscode.ConfigurationTarget.Global);
  const revert = () => ask('workbench.action.files.revert');
  const words = (document, range) => document.getText(range);
  const range = (document, from, to) => new vscode.Range(place(document, from), place(document, to));
  /** Puts `now` where `before` stands, does something there, and takes it back. */
  const instead = async ({ document, editor }, before, now, act) => {
    const at = place(document, before);
    await editor.edit((edit) => edit.replace(new vscode.Range(at, document.positionAt(document.offsetAt(at) + before.length)), now));
    try {
      return await act();
    } finally {
      await revert();
    }
  };
  const completions = async (uri, position) => (await ask('vscode.executeCompletionItemProvider', uri, position, undefined, 50)).items;
  const name = (item) => (typeof item.label === 'string' ? item.label : item.label.label);
  /** The places that a provider answers, as text. */
  const places = async (command, uri, position) => {
    const found = (await ask(command, uri, position)) ?? [];
    return Promise.all(
      found.map(async (one) => {
        const document = await vscode.workspace.openTextDocument(one.uri ?? one.targetUri);
        const at = one.range ?? one.targetSelectionRange ?? one.targetRange;
        return `${at.start.line + 1}: ${words(document, at)}`;
      }),
    );
  };
  const scale = () => show('scale.py');
  const signature = async (file, needle, by) => (await ask('vscode.executeSignatureHelpProvider', file.uri, place(file.document, needle, by), '('))?.signatures[0]?.label;

  const beside = {
    'completion offers masks of the right shape': async () => {
      const file = await scale();
      const items = await instead(file, 'mask=inside, other=0.0', 'mask=', () => until('completions', async () => {
        const all = await completions(file.uri, place(file.document, 'mask=)', 5));
        return all.length > 0 && all;
      }));
      assert.deepEqual(items.map((item) => `${name(item)} ${item.detail}`), ['inside, other=0.0 i1[256]']);
    },
    'completion has its switch': async () => {
      const file = await scale();
      await instead(file, 'mask=inside, other=0.0', 'mask=', async () => {
        const count = async () => (await completions(file.uri, place(file.document, 'mask=)', 5))).length;
        await until('completions', async () => (await count()) > 0);
        await set('completion.enable', false);
        await until('no completions', async () => (await count()) === 0);
        await set('completion.enable', undefined);
        await until('completions again', async () => (await count()) > 0);
      });
    },
    'every setting is in the README': async () => {
      const { extensionPath, packageJSON } = vscode.extensions.getExtension('tritium.tritium');
      const readme = fs.readFileSync(path.join(extensionPath, fs.readdirSync(extensionPath).find((one) => /^readme\.md$/i.test(one))), 'utf8');
      for (const name of Object.keys(packageJSON.contributes.configuration.properties)) assert.ok(readme.includes(`\`${name}\``), name);
    },
    'completion knows identities, keys and configurations': async () => {
      const file = await scale();
      const at = (before, now, cursor) => instead(file, before, now, () => until(`completions in ${now}`, async () => {
        const all = (await completions(file.uri, place(file.document, cursor, cursor.length))).map(name);
        return all.length > 0 && all;
      }));
      assert.ok((await at('other=0.0', 'other=', 'other=')).includes('-float("inf")'));
      assert.ok((await at('{"BLOCK": 256}', '{""}', '{"')).some((word) => /BLOCK/.test(word)));
      assert.ok((await at('key=["n"]', 'key=[]', 'key=[')).some((word) => /\bn\b/.test(word)));
    },
    'signatures of builtins and of launches': async () => {
      const file = await scale();
      await holds('a signature', async () => assert.match((await signature(file, 'tl.load(x', 8)) ?? '', /^tl\.load\(/));
      await holds('a signature', async () => assert.match((await signature(file, 'scale[grid](y', 12)) ?? '', /^scale\[grid\]\(y, x, n, BLOCK: tl\.constexpr\)/));
    },
    'a string leads to the parameter it names': async () => {
      const { uri, document } = await scale();
      const found = await until('a definition', async () => {
        const all = await places('vscode.executeDefinitionProvider', uri, place(document, 'BLOCK"]),)', 1));
        return all.length > 0 && all;
      });
      assert.deepEqual(found, [`${place(document, 'def scale').line + 1}: BLOCK`]);
    },
    'a shape leads to the range that made it': async () => {
      const { uri, document } = await scale();
      const found = await until('a definition', async () => {
        const all = await places('vscode.executeTypeDefinitionProvider', uri, place(document, 'value = tl.load', 1));
        return all.length > 0 && all;
      });
      assert.deepEqual(found, [`${place(document, 'tl.arange').line + 1}: tl.arange(0, BLOCK)`]);
    },
    'a shape of compile-time values leads to their parameters': async () => {
      const { uri, document } = await show('tuned.py');
      const found = await until('a definition', async () => {
        const all = await places('vscode.executeTypeDefinitionProvider', uri, place(document, 'total = tl.zeros', 1));
        return all.length > 0 && all;
      });
      const line = place(document, 'def matmul').line + 1;
      assert.deepEqual(found, [`${line}: BM`, `${line}: BN`]);
    },
    'names are coloured by what they mean': async () => {
      const { uri, document } = await scale();
      const legend = await until('a legend', () => ask('vscode.provideDocumentSemanticTokensLegend', uri));
      for (const kind of ['constexpr', 'pointer', 'tile', 'mask', 'scalar', 'launch']) assert.ok(legend.tokenTypes.includes(kind), kind);
      const coloured = ({ data }) => {
        const all = [];
        let [line, start] = [0, 0];
        for (let i = 0; i < data.length; i += 5) {
          if (data[i] > 0) [line, start] = [line + data[i], 0];
          start += data[i + 1];
          all.push(`${words(document, new vscode.Range(line, start, line, start + data[i + 2]))} ${legend.tokenTypes[data[i + 3]]}`);
        }
        return all;
      };
      await holds('names have their colours', async () => {
        const all = coloured(await ask('vscode.provideDocumentSemanticTokens', uri));
        for (const token of ['BLOCK constexpr', 'x pointer', 'offsets tile', 'inside mask', 'index scalar', 'scale launch']) assert.ok(all.includes(token), `${token} among ${all}`);
        const part = coloured(await ask('vscode.provideDocumentRangeSemanticTokens', uri, range(document, 'inside = offsets', 'value = tl.load')));
        assert.ok(part.includes('inside mask') && !part.includes('scale launch'), part.join());
      });
    },
    'a selection is summed where the pointer is over it': async () => {
      const { uri, document, editor } = await scale();
      const at = place(document, 'tl.load(x');
      editor.selection = new vscode.Selection(place(document, 'value = tl.load'), place(document, 'total = value'));
      const sum = await until('the sum', async () => {
        const text = await hover(uri, at);
        return /\*\*selection\*\*/.test(text) && text;
      });
      assert.match(sum, /1 load\b/);
      assert.match(sum, /1\.02 kB loaded|1024 B loaded|1 KiB loaded/i, sum);
      // A word that a double click has selected has its own hover still.
      editor.selection = new vscode.Selection(place(document, 'value = tl.load'), place(document, 'value = tl.load', 5));
      await holds('its own hover', async () => assert.match(await hover(uri, place(document, 'value = tl.load', 2)), /value: f32\[256\]/));
      editor.selection = new vscode.Selection(0, 0, 0, 0);
    },
    'refactorings are offered, and leave no mistake behind': async () => {
      const refactor = async (fileName, title, from, to, expected, change) => {
        const file = await show(fileName);
        const act = async () => {
          const where = new vscode.Range(place(file.document, from), place(file.document, to ?? from, to === undefined ? 0 : to.length));
          const action = await until(`${title} is offered`, async () => (await ask('vscode.executeCodeActionProvider', file.uri, where, 'refactor', 50)).find((one) => one.title.startsWith(title)));
          assert.ok(action.kind.value.startsWith('refactor.'), action.kind.value);
          assert.ok(await vscode.workspace.applyEdit(action.edit));
          assert.match(file.document.getText(), expected);
          // Asked for after the change: the answer is about it.
          await until('hints are there again', async () => (await hints(file)).length > 0);
          await holds('no mistake is left', () => assert.deepEqual(problems(file.uri).filter((one) => one.severity === vscode.DiagnosticSeverity.Error).map((one) => one.message), []));
        };
        try {
          await (change === undefined ? act() : instead(file, change[0], change[1], act));
        } finally {
          await revert();
        }
      };
      await refactor('scale.py', 'Add mask', 'tl.load(x', undefined, /tl\.load\(x \+ offsets, mask=offsets < n/, [', mask=inside, other=0.0)', ')']);
      await refactor('scale.py', 'Make `index` an int64', 'index = tl', undefined, /index = tl\.program_id\(0\)\.to\(tl\.int64\)/);
      await refactor('blocks.py', 'Extract helper', 'part * 0.5', 'part * 0.5', /@triton\.jit\ndef helper\(part\):\n {4}return part \* 0\.5\n/);
      await refactor('blocks.py', 'Make `block` a tensor descriptor', 'tl.make_block_ptr', undefined, /block = tl\.make_tensor_descriptor\(x, shape=\[rows, columns\]/);
    },
    'what a configuration takes too much of is told, with its name and a fix': async () => {
      const file = await show('tuned.py');
      await instead(file, 'num_warps=8, num_stages=4', 'num_warps=8, num_stages=6', async () => {
        const [problem] = await until('a problem appears', () => problems(file.uri).length > 0 && problems(file.uri));
        assert.equal(problem.code.value, 'TUN004');
        assert.match(problem.message, /294,912 bytes of shared memory.*num_stages=4 fits/);
        assert.match(problem.message, /\nonly under matmul\[3\]$/);
        assert.ok(problem.relatedInformation.some((one) => /buffers of/.test(one.message)), 'which values take it');
        const fix = await until('its removal is offered', async () => (await ask('vscode.executeCodeActionProvider', file.uri, problem.range, 'quickfix', 50)).find((one) => one.title === 'Remove matmul[3]'));
        assert.ok(await vscode.workspace.applyEdit(fix.edit));
        assert.doesNotMatch(file.document.getText(), /"BN": 256/);
        await until('the problem goes', () => problems(file.uri).length === 0);
      });
    },
    'every rule about resources is told at its place, with the configurations in which it holds': async () => {
      const { uri, document } = await show('resources.py');
      const expected = JSON.parse(fs.readFileSync(path.join(path.dirname(uri.fsPath), 'resources.json'), 'utf8'));
      for (const row of expected) {
        const found = await until(`${row.code} is there`, () => {
          const all = problems(uri).filter((problem) => problem.code.value === row.code);
          return all.length > 0 && all;
        });
        assert.equal(found.length, 1, `${row.code} is told once`);
        const [one] = found;
        assert.equal(one.source, 'tritium');
        // Counted from 0 here, from 1 in the protocol.
        assert.equal(one.severity + 1, row.severity, row.code);
        assert.ok(document.lineAt(one.range.start.line).text.trim().startsWith(row.line), `${row.code} in line ${one.range.start.line + 1}`);
        assert.equal(words(document, one.range), row.text, row.code);
        for (const said of row.says) assert.ok(one.message.includes(said), `${row.code}: ${one.message}`);
        assert.equal(/\nonly under (.*)$/.exec(one.message)?.[1] ?? null, row.only, one.message);
        for (const said of row.related) assert.ok(one.relatedInformation.some((about) => about.message === said), `${row.code}: ${said}`);
        assert.match(one.code.target.toString(), new RegExp(row.code));
      }
    },
    'the whole workspace is checked, and no file is told twice': async () => {
      // A file that no editor shows.
      const file = vscode.Uri.joinPath((await show('softmax.py')).uri, '../unseen.py');
      fs.writeFileSync(file.fsPath, fs.readFileSync(path.join(path.dirname(file.fsPath), 'broken.py')));
      const open = await show('resources.py');
      await until('the open file is told', () => problems(open.uri).length > 0);
      await until('the check has seen it', async () => {
        const checked = await ask('tritium.checkWorkspace');
        return problems(file).length > 0 && checked.files >= 6 && checked.problems > problems(open.uri).length;
      });
      assert.deepEqual(problems(file).map((one) => [one.code.value, one.source, one.range.start.line]), [['SHP001', 'tritium', 12]]);
      const told = problems(open.uri).map((one) => JSON.stringify([one.range, one.code.value, one.message]));
      assert.deepEqual(told.filter((one, index) => told.indexOf(one) !== index), [], 'what is open is told once');
      // Opened, it is told by the server alone.
      await show('unseen.py');
      await until('the server tells it', () => problems(file).length === 1);
      await ask('workbench.action.closeActiveEditor');
      fs.rmSync(file.fsPath);
    },
    'remarks stay where they are while somebody types': async () => {
      const file = await show('tuned.py');
      await instead(file, 'num_warps=8, num_stages=4', 'num_warps=8, num_stages=6', async () => {
        await until('a remark appears', () => problems(file.uri).length > 0);
        const seen = [];
        const listener = vscode.languages.onDidChangeDiagnostics(() => seen.push(problems(file.uri).length));
        for (let i = 0; i < 8; i += 1) {
          await file.editor.edit((edit) => edit.insert(place(file.document, '    inner = tl.arange'), `    # Typed: ${i}.\n`));
          await hints(file);
        }
        // What is told of the last text stands a line lower than what was told before it.
        await file.editor.edit((edit) => edit.insert(new vscode.Position(0, 0), '# Typed above.\n'));
        await until('the newest text is told about', () => problems(file.uri)[0]?.range.start.line === place(file.document, '"BN": 256').line);
        listener.dispose();
        assert.ok(seen.every((count) => count === 1), `the list changes: ${seen}`);
        assert.equal(problems(file.uri)[0].range.start.line, place(file.document, '"BN": 256').line);
      });
    },
    'hovers tell of accesses, loops and registers': async () => {
      const report = async (uri, kernel) => {
        const address = vscode.Uri.from({ scheme: 'tritium-report', path: `/${kernel}.md`, query: JSON.stringify({ uri: uri.toString(), kernel }) });
        return (await vscode.workspace.openTextDocument(address)).getText();
      };
      const { uri, document } = await show('tuned.py');
      for (const [needle, by, facts] of [
        ['tl.load(a_tile', 4, [/16 bytes an instruction and thread, 16 sectors a request \(16 would do\)/, /asked for, .* from or to DRAM/, /live registers here: ~\d+ \(acc /]],
        ['for start', 1, [/128 trips = cdiv\(K, 32\)/, /one trip of one program: 262 kFLOP/, /limiter of a trip: /, /loads run ahead in \d stages/]],
        ['def matmul', 5, [/compute bound/, /would gain ~1\.33×/]],
        // What stands behind the link.
        ['def matmul', undefined, [/limiter: /, /waves: /, /would gain ~\d/, /12\.0 KiB for `local_alloc` of line 26/, /barriers in the code/, /registers or less/, /one program: 262144·cdiv\(K, 32\) FLOP/, /loads and stores ask for 4\.33 GB, 101 MB of them different/, /most registers are live in line \d+/, /by Triton's: .*shared memory, unlikely to spill \(\d\.\d× of the \d+ registers a thread has; \d+ % of such kernels spill\), wgmma/]],
        ['total = tl.dot', 1, [/f32\[64, 64\]/, /layout: 32 elements per thread/, /product: wgmma m64n64k16/, /\(Triton, by its rules\)/]],
      ]) {
        await holds(`a hover over ${needle} tells it`, async () => {
          const words = by === undefined ? await report(uri, 'matmul') : await hover(uri, place(document, needle, by));
          for (const fact of facts) assert.match(words, fact);
        });
      }
    },
    'places are right beside letters of two and four bytes': async () => {
      const file = await show('softmax.py');
      await instead(file, 'x = tl.load', 'tl.static_print("é😀"); x = tl.load', async () => {
        const at = place(file.document, 'x = tl.load');
        await until('a hint stands behind the name', async () =>
          (await hints(file)).some((hint) => hint.position.isEqual(at.translate(0, 1)) && /f32\[1024\]/.test(label(hint))));
        await holds('a hover', async () => assert.match(await hover(file.uri, at), /x: f32\[1024\]/));
        assert.deepEqual(problems(file.uri).map((one) => one.message), []);
      });
    },
    'all safe fixes at once': async () => {
      const file = await show('broken.py');
      await until('a problem appears', () => problems(file.uri).length > 0);
      const all = () => ask('vscode.executeCodeActionProvider', file.uri, new vscode.Range(0, 0, file.document.lineCount, 0), 'source.fixAll', 50);
      await instead(file, 'x = tl.load(X + rows)', 'x = tl.load(X + rows)  # tritium: ignore[MSK001] not any more', async () => {
        const action = await until('the action is offered', async () => (await all()).find((one) => /^Fix all of Tritium's/.test(one.title)));
        assert.ok(await vscode.workspace.applyEdit(action.edit));
        assert.doesNotMatch(file.document.getText(), /ignore\[/);
      });
    },
    'each kind of hint has its switch': async () => {
      const file = await show('blocks.py');
      const shown = async (pattern) => (await hints(file)).some((hint) => pattern.test(label(hint)));
      const kinds = [
        ['inlayHints.shapes', true, /\[32, 64\]/],
        ['inlayHints.dtypes', true, /f16/],
        ['inlayHints.promotions', false, /→/],
        ['inlayHints.roofline', true, /memory|compute|bound/i],
      ];
      for (const [switched, usual, pattern] of kinds) {
        await until(`${switched} is ${usual} at first`, async () => (await shown(pattern)) === usual);
        await set(switched, !usual);
        await until(`${switched} is ${!usual} then`, async () => (await shown(pattern)) === !usual);
        await set(switched, undefined);
        await until(`${switched} is ${usual} again`, async () => (await shown(pattern)) === usual);
      }
      // Promotions alone.
      const quiet = ['inlayHints.shapes', 'inlayHints.dtypes', 'inlayHints.roofline'];
      await set('inlayHints.promotions', true);
      for (const one of quiet) await set(one, false);
      await until('promotions alone are shown', async () => {
        const all = (await hints(file)).map(label);
        return all.length > 0 && all.every((one) => /→/.test(one));
      });
      for (const one of [...quiet, 'inlayHints.promotions']) await set(one, undefined);
      await until('all is as usual', async () => (await shown(/\[32, 64\]/)) && !(await shown(/→/)));
    },
    'a loop says what a trip of it costs': async () => {
      const file = await show('tuned.py');
      const line = place(file.document, 'for start').line;
      const [trip] = await until('a hint', async () => {
        const all = (await hints(file)).filter((hint) => hint.position.line === line).map(label);
        return all.length > 0 && all;
      });
      assert.match(trip, /^\s*128 trips · 262 kFLOP · 8 KiB · 32 FLOP\/B · L2$/);
    },
    'what a Python server answers is left to it': async () => {
      const { uri, document } = await scale();
      const at = place(document, 'BLOCK: tl', 1);
      assert.deepEqual(await places('vscode.executeReferenceProvider', uri, at), []);
      assert.equal((await ask('vscode.executeDocumentSymbolProvider', uri)) ?? undefined, undefined);
      assert.deepEqual(await places('vscode.executeDefinitionProvider', uri, place(document, 'doubled(total', 1)), []);
      assert.deepEqual((await completions(uri, place(document, 'tl.arange', 3))).filter((item) => /program_id/.test(name(item))), []);
    },
  };

  const alone = {
    'without a Python server names are answered too': async () => {
      const { uri, document } = await scale();
      await set('python', 'none');
      const at = place(document, 'BLOCK: tl', 1);
      const found = await until('references', async () => {
        const all = await places('vscode.executeReferenceProvider', uri, at);
        return all.length > 0 && all;
      });
      // Two configurations, the parameter, two uses, the grid.
      assert.equal(found.length, 6, found.join());
      assert.ok(found.every((one) => /: BLOCK$/.test(one)), found.join());
    },
    'a name is highlighted where it stands': async () => {
      const { uri, document } = await scale();
      await holds('highlights', async () => {
        const all = (await ask('vscode.executeDocumentHighlights', uri, place(document, 'inside = offsets', 1))) ?? [];
        assert.deepEqual(all.map((one) => words(document, one.range)), ['inside', 'inside', 'inside']);
        assert.deepEqual(all.map((one) => one.kind === vscode.DocumentHighlightKind.Write), [true, false, false]);
      });
    },
    'a rename reaches configurations, keys, grids and launches': async () => {
      const { uri, document } = await scale();
      const prepared = await until('it may be renamed', () => ask('vscode.prepareRename', uri, place(document, 'BLOCK: tl', 1)).then((one) => one, () => undefined));
      assert.equal(prepared.placeholder, 'BLOCK');
      for (const [needle, to, gone, there] of [
        ['BLOCK: tl', 'TILE', /\bBLOCK\b/, [/\{"TILE": 256\}/, /meta\["TILE"\]/, /index \* TILE/]],
        ['n, BLOCK: tl', 'count', /key=\["n"\]/, [/key=\["count"\]/, /\(y, x, count=n\)/, /offsets < count/]],
      ]) {
        const edit = await until('a rename', async () => (await ask('vscode.executeDocumentRenameProvider', uri, place(document, needle), to)) ?? undefined);
        assert.ok(await vscode.workspace.applyEdit(edit));
        const text = document.getText();
        assert.doesNotMatch(text, gone);
        for (const one of there) assert.match(text, one);
        await revert();
      }
      await holds('another name is refused', () =>
        assert.rejects(async () => void (await ask('vscode.executeDocumentRenameProvider', uri, place(document, 'arange', 1), 'other')), /not defined in this workspace/));
    },
    'a rename reaches what `import *` brings': async () => {
      const { uri } = await scale();
      const files = { 'lib_of_all.py': 'import triton\n\n\n@triton.jit\ndef halve(value):\n    return value / 2\n', 'use_of_all.py': 'import triton\nfrom lib_of_all import *\n\n\n@triton.jit\ndef quarter(value):\n    return halve(halve(value))\n' };
      for (const [one, text] of Object.entries(files)) await vscode.workspace.fs.writeFile(vscode.Uri.joinPath(uri, '..', one), Buffer.from(text));
      const { uri: lib, document } = await show('lib_of_all.py');
      const edit = await until('the rename reaches both', async () => {
        const edit = await ask('vscode.executeDocumentRenameProvider', lib, place(document, 'halve'), 'half');
        return edit.size === 2 && edit;
      });
      assert.deepEqual(edit.entries().map(([one, edits]) => `${path.basename(one.path)} ${edits.length}`).sort(), ['lib_of_all.py 1', 'use_of_all.py 2']);
      await ask('workbench.action.closeActiveEditor');
      for (const one of Object.keys(files)) fs.rmSync(vscode.Uri.joinPath(uri, '..', one).fsPath);
    },
    'names lead to their definitions and are completed': async () => {
      const { uri, document } = await scale();
      await holds('a definition', async () => {
        assert.deepEqual(await places('vscode.executeDefinitionProvider', uri, place(document, 'doubled(total', 1)), [`${place(document, 'def doubled').line + 1}: doubled`]);
      });
      await holds('the mask', async () => {
        assert.deepEqual((await completions(uri, place(document, 'mask=inside)', 5))).map((item) => `${name(item)} ${item.detail}`), ['inside i1[256]']);
      });
      await holds('the builtins', async () => {
        const members = await completions(uri, place(document, 'tl.arange', 3));
        const item = members.find((one) => name(one) === 'program_id');
        assert.ok(item, members.map(name).join());
        assert.match(typeof item.documentation === 'string' ? item.documentation : (item.documentation?.value ?? ''), /\S/, 'it is documented when looked at');
      });
    },
    'the outline has kernels, configurations and launches': async () => {
      const { uri } = await scale();
      const tell = (all) => all.map((one) => (one.children.length > 0 ? `${one.name} (${tell(one.children)})` : one.name)).join(', ');
      await holds('an outline', async () => {
        assert.equal(tell((await ask('vscode.executeDocumentSymbolProvider', uri)) ?? []), 'doubled, scale (configuration 0, configuration 1), scaled (scale)');
      });
    },
    'kernels of the workspace are found by their letters': async () => {
      const all = await until('symbols', async () => {
        const found = await ask('vscode.executeWorkspaceSymbolProvider', 'rwsm');
        return found.length > 0 && found;
      });
      assert.deepEqual(all.map((one) => [one.name, path.basename(one.location.uri.path)]), [['row_sums', 'blocks.py']]);
    },
    'a kernel that appears on the disk is found': async () => {
      const { uri } = await scale();
      const file = vscode.Uri.joinPath(uri, '../appeared.py');
      await vscode.workspace.fs.writeFile(file, Buffer.from('import triton\n\n\n@triton.jit\ndef newly_appeared(x):\n    pass\n'));
      await until('it is found', async () => (await ask('vscode.executeWorkspaceSymbolProvider', 'newly_appeared')).length === 1);
      fs.rmSync(file.fsPath);
      await until('it is gone', async () => (await ask('vscode.executeWorkspaceSymbolProvider', 'newly_appeared')).length === 0);
    },
    'calls lead from the kernel through its launch to the host': async () => {
      const { uri, document } = await scale();
      await holds('calls', async () => {
        const [kernel] = await ask('vscode.prepareCallHierarchy', uri, place(document, 'scale(y, x, n, BLOCK', 1));
        const [launch] = await ask('vscode.provideIncomingCalls', kernel);
        const [host] = await ask('vscode.provideIncomingCalls', launch.from);
        assert.deepEqual([kernel.name, host.from.name], ['scale', 'scaled']);
        assert.deepEqual((await ask('vscode.provideOutgoingCalls', kernel)).map((call) => call.to.name), ['doubled']);
      });
    },
    'functions and brackets fold': async () => {
      const { uri, document } = await scale();
      await holds('folds', async () => {
        const starts = ((await ask('vscode.executeFoldingRangeProvider', uri)) ?? []).map((one) => one.start);
        for (const words of ['def scale(', 'for turn', '@triton.autotune']) assert.ok(starts.includes(place(document, words).line), `${words}: ${starts}`);
      });
    },
    'a selection grows by meaning': async () => {
      const { uri, document } = await scale();
      await holds('selections', async () => {
        const [row] = await ask('vscode.executeSelectionRangeProvider', uri, [place(document, 'offsets, mask=inside, other', 1)]);
        const all = [];
        for (let one = row; one !== undefined; one = one.parent) all.push(words(document, one.range));
        assert.equal(all[0], 'offsets');
        assert.ok(all.includes('x + offsets') && all.some((one) => /^tl\.load\(.*\)$/.test(one)), all.slice(0, 6).join(' | '));
      });
    },
    'with a Python server names are left to it again': async () => {
      const { uri, document } = await scale();
      await set('python', undefined);
      await until('no references are left', async () => (await places('vscode.executeReferenceProvider', uri, place(document, 'BLOCK: tl', 1))).length === 0);
      await until('what is ours alone is still there', async () => (await lenses(uri)).length > 0);
    },
  };
  return { ...beside, ...alone };
};
