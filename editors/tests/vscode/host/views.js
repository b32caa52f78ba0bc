/**
 * Views, charts, configurations and what is looked at, as the editor shows them.
 */
const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');

/** Stages and a word that each must have. */
const STAGES = [
  ['tree', /DECORATOR/],
  ['items', /^kernel softmax\(/m],
  ['source', /x = tl\.load.*# x: f32\[1024\]/],
  ['tile', /^module L0/],
  ['passes', /\/\/ after coalesce/],
  ['layout', /^module L1 num_warps=4/m],
  ['llvm', /define ptx_kernel void @softmax/],
  ['ptx', /\.visible \.entry softmax/],
  ['sass', /\bEXIT\b/],
];

module.exports = ({ ask, holds, hover, hints, place, repeated, show, until }) => {
  const views = () => vscode.window.visibleTextEditors.filter((editor) => editor.document.uri.scheme === 'tritium');
  const view = (extension) => views().find((editor) => editor.document.uri.path.endsWith(`.${extension}`));
  const close = () => ask('workbench.action.closeEditorsInOtherGroups').then(() => ask('workbench.action.closeOtherEditors'));
  const put = (editor, position) => {
    editor.selection = new vscode.Selection(position, position);
  };
  const tuned = async (needle = 'total = tl.dot') => {
    const file = await show('tuned.py');
    put(file.editor, place(file.document, needle, 2));
    return file;
  };

  return {
    'every stage opens beside the source': async () => {
      const { editor, document } = await show('softmax.py');
      put(editor, place(document, 'z = x', 0));
      for (const [stage, words] of STAGES) {
        await show('softmax.py');
        const shown = await until(`${stage} opens`, () => ask(`tritium.show.${stage}`));
        await holds(`${stage} is there`, () => assert.match(shown.document.getText(), words));
        assert.notEqual(shown.viewColumn, editor.viewColumn, `${stage} stands beside the source`);
        await until('the source has the focus', () => vscode.window.activeTextEditor?.document === document);
      }
      await close();
    },
    'the PTX of a line is shown with the line, and the line with its PTX': async () => {
      const { editor, document } = await show('softmax.py');
      const store = place(document, 'tl.store').line;
      put(editor, new vscode.Position(0, 0));
      const ptx = await ask('tritium.show.ptx');
      const lines = await until('the PTX stores', () => /st\.global/.test(ptx.document.getText()) && ptx.document.getText().split('\n'));
      // Each element is stored as soon as it is computed: any of the stores is the line's.
      const stores = lines.flatMap((line, at) => (line.includes('st.global') ? [at] : []));
      const isSeen = (editor, line) => editor.visibleRanges.some((range) => range.start.line <= line && line <= range.end.line);
      await repeated('the store is seen in the PTX', async () => {
        put(editor, new vscode.Position(0, 0));
        ptx.revealRange(new vscode.Range(0, 0, 0, 0), vscode.TextEditorRevealType.AtTop);
        put(editor, new vscode.Position(store, 4));
      }, () => stores.some((at) => isSeen(ptx, at)));
      // The other way: the cursor in the PTX brings the source's line.
      const small = await vscode.window.showTextDocument(ptx.document, { viewColumn: ptx.viewColumn });
      const load = lines.findIndex((line) => line.includes('ld.global'));
      const line = place(document, 'x = tl.load').line;
      await repeated('the load is seen in the source', async () => {
        put(small, new vscode.Position(0, 0));
        editor.revealRange(new vscode.Range(document.lineCount - 1, 0, document.lineCount - 1, 0), vscode.TextEditorRevealType.AtTop);
        put(small, new vscode.Position(load, 0));
      }, () => isSeen(editor, line));
      await close();
    },
    'a view follows what is typed': async () => {
      const { editor, document } = await show('softmax.py');
      put(editor, place(document, 'z = x', 0));
      const tile = await ask('tritium.show.tile');
      await until('the view is there', () => /^module L0/.test(tile.document.getText()));
      assert.doesNotMatch(tile.document.getText(), /\bsqrt\b/);
      const range = new vscode.Range(place(document, 'tl.exp(z)'), place(document, 'tl.exp(z)', 9));
      await editor.edit((edit) => edit.replace(range, 'tl.sqrt(z)'));
      await until('the view has the new operation', () => /\bsqrt\b/.test(tile.document.getText()));
      await editor.edit((edit) => edit.replace(new vscode.Range(place(document, 'tl.sqrt(z)'), place(document, 'tl.sqrt(z)', 10)), 'tl.exp(zz)'));
      await until('a mistake is told in the view', () => /does not compile/.test(tile.document.getText()));
      await ask('workbench.action.files.revert');
      await until('the view is back', () => /^module L0/.test(tile.document.getText()));
      await close();
    },
    'the matrix has a column for every configuration': async () => {
      await tuned();
      const html = await until('the page', async () => {
        const page = await ask('tritium.showConfigurations');
        return /<th scope="col"/.test(page) && page;
      });
      for (const words of [/BM=64/, /BN=256/, /shared bytes/, /registers/, /spilled bytes/, /occupancy/, /FLOP\/byte/, /time, µs/]) assert.match(html, words);
      assert.equal(html.match(/<th scope="col"/g).length, 4);
      // Colours are the editor's own, so that the page follows its theme.
      assert.match(html, /var\(--vscode-/);
      assert.match(html, /default-src 'none'; style-src 'nonce-[^']+'; script-src 'nonce-[^']+'/);
      await until('the tab has its name', () => vscode.window.tabGroups.all.flatMap((group) => group.tabs).some((tab) => tab.label === 'matmul: Configurations'));
      await close();
    },
    'charts follow what is typed': async () => {
      const { document, editor } = await tuned();
      await until('the page', () => ask('tritium.showConfigurations'));
      await ask('tritium.showRoofline');
      const { chart } = vscode.extensions.getExtension('tritium.tritium').exports;
      const [at, words] = [place(document, '"BN": 256'), '"BN": 32'];
      await editor.edit((edit) => edit.replace(new vscode.Range(at, at.translate(0, 9)), words));
      for (const kind of ['configurations', 'roofline']) await until(`${kind} has the new one`, () => /BN=32\b/.test(chart(kind)) && !/BN=256/.test(chart(kind)));
      await ask('workbench.action.files.revert');
      for (const kind of ['configurations', 'roofline']) await until(`${kind} is as it was`, () => /BN=256/.test(chart(kind)));
      await close();
      assert.equal(chart('roofline'), undefined);
    },
    'another configuration is one choice away, and hovers follow': async () => {
      const { uri, document } = await tuned();
      const at = place(document, 'total = tl.dot');
      await holds('the first configuration', async () => assert.match(await hover(uri, at), /f32\[64, 64\]/));
      await ask('tritium.chooseConfiguration', 'matmul:2');
      await until('the hover follows', async () => /f32\[128, 128\]/.test(await hover(uri, at)));
      await holds('the kernel, too', async () => assert.match(await hover(uri, place(document, 'def matmul', 5)), /configuration 2/));
      const ptx = await ask('tritium.show.ptx');
      await holds('and its PTX', () => assert.match(ptx.document.getText(), /8 warps/));
      await tuned();
      await ask('tritium.chooseConfiguration', 'matmul:0');
      await until('the view follows', () => /4 warps/.test(ptx.document.getText()));
      await close();
    },
    'the status bar says what is looked at, and a click changes what hovers say': async () => {
      const { uri, document } = await tuned();
      const { looks } = vscode.extensions.getExtension('tritium.tritium').exports;
      const says = (pattern) => until(`the status bar says ${pattern}`, () => pattern.test(looks()?.text ?? '') && looks());
      const before = await says(/H100 · Triton 3[^·]* · .*BM=64 BN=64/);
      assert.match(before.tooltip, /^matmul: .*\nBoard: H100\nTriton 3/);
      // The keys a person would press: the click opens the list, its first row the configurations. Nobody says when a list has
      // opened, and a key before that goes nowhere: tried again, each time more slowly.
      let pause = 250;
      const choose = async () => {
        pause *= 2;
        const row = async (down) => {
          await new Promise((resolve) => setTimeout(resolve, pause));
          for (let i = 0; i < down; i += 1) await ask('workbench.action.quickOpenSelectNext');
          await ask('workbench.action.acceptSelectedQuickOpenItem');
        };
        const chosen = ask(before.command);
        await row(0);
        await row(2);
        // Where a key was lost the list is still open.
        const closed = setTimeout(() => void ask('workbench.action.closeQuickOpen'), pause);
        await chosen;
        clearTimeout(closed);
      };
      await repeated('the status bar follows', choose, () => /BM=128 BN=128/.test(looks()?.text ?? ''));
      const at = place(document, 'total = tl.dot');
      await until('the hover follows', async () => /f32\[128, 128\]/.test(await hover(uri, at)));
      await tuned();
      await ask('tritium.chooseConfiguration', 'matmul:0');
      await says(/BM=64 BN=64/);
      await show('plain.py');
      await until('beside no kernel the entry is gone', () => looks() === undefined);
    },
    'the status bar tells what is not checked': async () => {
      const { document, editor } = await show('softmax.py');
      const { looks } = vscode.extensions.getExtension('tritium.tritium').exports;
      await until('all is checked', () => /Triton 3/.test(looks()?.text ?? '') && !/Not checked/.test(looks().tooltip));
      const end = document.positionAt(document.getText().length);
      await editor.edit((edit) => edit.insert(end, '\nfrom triton.experimental import gluon\n\n\n@gluon.jit\ndef copy(x):\n    pass\n'));
      await until('something is not', () => /\nNot checked: 1 Gluon kernel\n/.test(looks()?.tooltip ?? ''));
      await ask('workbench.action.files.revert');
      await until('all is checked again', () => !/Not checked/.test(looks()?.tooltip ?? 'Not checked'));
    },
    'another board is one choice away': async () => {
      const file = await show('softmax.py');
      const line = place(file.document, 'def softmax').line;
      const remark = async () => (await hints(file)).filter((hint) => hint.position.line === line).map((hint) => (typeof hint.label === 'string' ? hint.label : hint.label.map((part) => part.value).join(''))).join();
      await until('H100 at first', async () => /H100/.test(await remark()));
      await ask('tritium.chooseGpu', 'A100');
      await until('A100 then', async () => /A100/.test(await remark()));
      await ask('tritium.chooseGpu', '');
      await until('H100 again', async () => /H100/.test(await remark()));
    },
    'two choices at once are both made': async () => {
      await until('the server runs', async () => (await hints(await show('softmax.py'))).length > 0);
      const { looks } = vscode.extensions.getExtension('tritium.tritium').exports;
      await show('plain.py');
      await until('no kernel is near', () => looks() === undefined);
      await show('softmax.py');
      // Each asks what there is to choose, and what the first hears is not about the newest question.
      const both = (gpu, triton) => Promise.all([ask('tritium.chooseGpu', gpu), ask('tritium.chooseTriton', triton)]);
      await both('A100', '3.8');
      await until('the status bar says both', () => /A100 · Triton 3\.8/.test(looks()?.text ?? ''));
      await both('', '');
      await until('the status bar is as it was', () => /H100 · Triton 3\.6/.test(looks()?.text ?? ''));
    },
    'another version of Triton is one choice away, and hovers follow': async () => {
      const { uri, document, editor } = await show('softmax.py');
      const { looks } = vscode.extensions.getExtension('tritium.tritium').exports;
      const says = (pattern) => until(`the status bar says ${pattern}`, () => pattern.test(looks()?.text ?? ''));
      const before = place(document, 'tl.exp(z)');
      await editor.edit((edit) => edit.replace(new vscode.Range(before, before.translate(0, 9)), 'tl.maximum(z.to(tl.float16), 0.0)'));
      const at = place(document, 'numerator = ');
      // The literal makes the result wide, until 3.9.
      for (const [version, shown, type] of [['3.6', /Triton 3\.6(?! to)/, /numerator: f32\[1024\]/], ['3.9', /Triton 3\.9/, /numerator: f16\[1024\]/], ['', /Triton 3\.6 to 3\.9/, /numerator: f16\[1024\]/]]) {
        await ask('tritium.chooseTriton', version);
        await says(shown);
        await until(`the hover says ${type}`, async () => type.test(await hover(uri, at)));
      }
      await ask('workbench.action.files.revert');
    },
    'two configurations are compared': async () => {
      await tuned();
      await ask('tritium.compareConfigurations', { stage: 'layout', left: 'matmul:0', right: 'matmul:2' });
      const tab = await until('the comparison opens', () =>
        vscode.window.tabGroups.all.flatMap((group) => group.tabs).find((tab) => tab.input instanceof vscode.TabInputTextDiff));
      for (const [side, words] of [[tab.input.original, /num_warps=4/], [tab.input.modified, /num_warps=8/]]) {
        const document = await vscode.workspace.openTextDocument(side);
        await until(`${words} is there`, () => words.test(document.getText()));
      }
      await ask('workbench.action.closeActiveEditor');
    },
    'roofline, occupancy and layout are drawn': async () => {
      await tuned();
      const roofline = await until('the roofline', async () => {
        const page = await ask('tritium.showRoofline');
        return /<svg/.test(page) && page;
      });
      for (const words of [/<svg xmlns/, /FLOP per byte/, /f16 tensor 989 TFLOP\/s/, /BM=128 BN=256/, /data-active="matmul:0"/]) assert.match(roofline, words);
      assert.equal(roofline.match(/<g class="point"/g).length, 4, 'a point for every configuration');
      // Both ways a tenfold is equally far.
      const ticks = (pattern) => [...roofline.matchAll(pattern)].map((found) => Number(found[1]));
      for (const at of [ticks(/text-anchor="middle" x="([\d.]+)" y="452\.0">1[0.]*(?: k)?</g), ticks(/y="([\d.]+)">1[0.]* TFLOP\/s</g)]) {
        assert.equal(at.length, 3, at.join());
        assert.ok(Math.abs(at[2] - at[1] - (at[1] - at[0])) < 0.2, at.join());
      }
      await tuned();
      const occupancy = await until('the occupancy', async () => {
        await tuned();
        const page = await ask('tritium.showOccupancy');
        return /<svg/.test(page) && page;
      });
      for (const curve of [/warps per CTA \(now 4\)/, /registers per thread \(now \d+\): \d+ or less: \d+ %; \d+ or more: \d+ %/, /bytes of shared memory per CTA \(now 24576\): \d+ or more: \d+ %/]) assert.match(occupancy, curve);
      await holds('it is of the load at the cursor', async () => {
        await tuned('a = tl.load');
        const layout = await ask('tritium.showLayout');
        assert.match(layout, /warp 0, lane 0, register/);
        assert.match(layout, /of line 26/);
      });
      await close();
    },
    "what Triton made of a kernel stands beside ours, once it has run here": async () => {
      const { uri, document, editor } = await show('softmax.py');
      put(editor, place(document, 'z = x', 0));
      const missing = await ask('tritium.show.triton_ptx');
      await holds('it says so', () => assert.match(missing.document.getText(), /Triton has not compiled `softmax` of softmax\.py for sm_90 here/));
      await close();
      // An entry of Triton's cache, as it writes them.
      const folder = path.join(process.env.HOME, '.triton/cache/entry');
      const store = place(document, 'tl.store').line;
      fs.mkdirSync(folder, { recursive: true });
      const write = (extension, text) => fs.writeFileSync(path.join(folder, `softmax.${extension}`), text);
      write('json', JSON.stringify({ target: { backend: 'cuda', arch: 90, warp_size: 32 }, num_warps: 4, num_stages: 3, shared: 128 }));
      write('ttgir', `tt.store %0, %1 loc(#loc1)\n#loc1 = loc("${uri.fsPath}":${store + 1}:4)\n`);
      write('ptx', `.version 8.0
.target sm_90
.address_size 64
.file 1 "${uri.fsPath}"
.visible .entry softmax(.param .u64 Y)
{
.reg .b64 %rd<2>;
.reg .b32 %r<2>;
.loc 1 ${store + 1} 4
ld.param.u64 %rd1, [Y];
mov.b32 %r1, 7;
st.global.b32 [%rd1], %r1;
ret;
}
`);
      execFileSync(process.env.TRITON_PTXAS_PATH ?? 'ptxas', ['-lineinfo', '-arch=sm_90', 'softmax.ptx', '-o', 'softmax.cubin'], { cwd: folder });
      await show('softmax.py');
      put(editor, new vscode.Position(store, 4));
      for (const [stage, words] of [
        ['triton_ttgir', /^\/\/ triton: kernel softmax, num_warps 4, num_stages 3, 128 bytes of shared memory\ntt\.store/],
        ['triton_ptx', /st\.global\.b32/],
        ['triton_sass', /\bSTG\b/],
      ]) {
        const source = await show('softmax.py');
        const shown = await ask(`tritium.show.${stage}`);
        await until(`${stage} is there`, () => words.test(shown.document.getText()));
        // The cursor in what Triton made leads to the line it was made of.
        const lines = shown.document.getText().split('\n');
        const small = await vscode.window.showTextDocument(shown.document, { viewColumn: shown.viewColumn });
        await repeated(`${stage} leads to the store`, async () => {
          put(small, new vscode.Position(0, 0));
          source.editor.revealRange(new vscode.Range(document.lineCount - 1, 0, document.lineCount - 1, 0), vscode.TextEditorRevealType.AtTop);
          put(small, new vscode.Position(lines.findIndex((line) => /tt\.store|st\.global|\bSTG\b/.test(line)), 0));
        }, () => vscode.window.visibleTextEditors.some((one) => one.document === document && one.visibleRanges.some((range) => range.start.line <= store && store <= range.end.line)));
      }
      fs.rmSync(folder, { recursive: true });
      await close();
    },
    'commands are offered only where there is a kernel': async () => {
      const manifest = vscode.extensions.getExtension('tritium.tritium').packageJSON;
      const all = new Set(await vscode.commands.getCommands(true));
      for (const { command } of manifest.contributes.commands) assert.ok(all.has(command), `${command} is there`);
      assert.ok(manifest.contributes.menus.commandPalette.every(({ when }) => /tritium\.active/.test(when)));
      await show('plain.py');
      assert.equal(await ask('tritium.show.ptx'), undefined, 'nothing to show in a plain file');
      await close();
    },
  };
};
