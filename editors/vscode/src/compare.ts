/**
 * What another configuration changes: one stage of two configurations in the editor's own difference view.
 */
import { commands, type Disposable, window } from 'vscode';
import { type Looks, pick } from './looks';
import { STAGES, type Stage } from './requests';
import { address } from './views';

const STAGES_TO_COMPARE: Stage[] = ['ptx', 'tile', 'layout', 'llvm', 'sass'];

export function registerCompare(looks: Looks): Disposable {
  return commands.registerCommand('tritium.compareConfigurations', async (given?: { stage?: Stage; left?: string; right?: string }) => {
    const at = await looks.at();
    const kernel = at?.choices.kernel;
    if (at === undefined || kernel == null) return void window.showInformationMessage('Place the cursor in a kernel to compare its configurations.');
    const all = at.choices.configurations;
    if (all.length < 2) return void window.showInformationMessage(`${kernel} has one configuration; there is nothing to compare it with.`);
    const find = (id?: string) => all.find((one) => one.id === id);
    const left = find(given?.left) ?? (await pick(`Compare which configuration of ${kernel}…`, all));
    if (left === undefined) return;
    const right = find(given?.right) ?? (await pick(`… with which?`, all.filter((one) => one.id !== left.id)));
    if (right === undefined) return;
    const stages = STAGES_TO_COMPARE.map((stage) => ({ label: STAGES[stage].label, stage }));
    const stage = given?.stage ?? (await window.showQuickPick(stages, { title: 'Compare which stage?' }))?.stage;
    if (stage === undefined) return;
    const of = (configuration: string) => address({ uri: at.uri.toString(), kernel, configuration, stage });
    await commands.executeCommand('vscode.diff', of(left.id), of(right.id), `${kernel} ${STAGES[stage].label}: ${left.label} ↔ ${right.label}`);
  });
}
