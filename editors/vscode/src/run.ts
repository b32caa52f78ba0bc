/**
 * Running a launch, also under checks or by the clock: what the lenses above a kernel and the commands *Tritium: Run Kernel*, *Sanitize Kernel*
 * and *Bench Kernel* do.
 *
 * The server executes; this file asks, shows progress and prints. **Nothing runs in a workspace that is not trusted.**
 */
import { type CancellationToken, type CodeLens, commands, type Memento, type OutputChannel, ProgressLocation, Uri, window, workspace, WorkspaceEdit } from 'vscode';
import { ExecuteCommandRequest, type LanguageClient, WorkDoneProgress, type WorkspaceEdit as ProtocolEdit } from 'vscode-languageclient/node';
import type { Launches } from './launches';
import type { Server } from './server';

/** What a lens carries and `tritium.server.run` takes. */
export interface Launch {
  uri: string;
  launch: string | null;
  kernel: string | null;
  /** What it takes is not wholly known: the person is asked. */
  ask?: boolean;
  /** What was answered, by name. */
  set?: Record<string, string>;
}

/** What `tritium.server.run` answers. */
export interface Outcome {
  ok: boolean;
  /** The whole account. */
  text: string;
  /** The account in one line. */
  summary?: string;
  /** A launch block that says what was answered. */
  block?: string | null;
  /** What of a tuning can be written into the file, as the words of a button. */
  write?: string;
}

/** What `tritium.server.ask` answers. */
interface Question {
  ok: boolean;
  text?: string;
  function: string;
  names: { name: string; value: string; is_default: boolean }[];
}

/** What can be done with a launch: the command of its lens, the server's, and its words. */
const deeds = {
  run: { lens: 'tritium.run', command: 'tritium.server.run', doing: 'Running', question: 'Run which launch?' },
  sanitize: { lens: 'tritium.sanitize', command: 'tritium.server.sanitize', doing: 'Checking', question: 'Check which launch?' },
  bench: { lens: 'tritium.bench', command: 'tritium.server.bench', doing: 'Timing', question: 'Time which launch?' },
  tune: { lens: 'tritium.tune', command: 'tritium.server.tune', doing: 'Tuning', question: 'Tune which launch?' },
};

export type Deed = keyof typeof deeds;

const keep = 'Keep as Launch Block';

/** Says so where nothing may be run. */
export function mayRun(): boolean {
  if (workspace.isTrusted) return true;
  void window.showWarningMessage('Tritium runs kernels only in a trusted workspace.', 'Manage Trust').then((choice) => {
    if (choice !== undefined) void commands.executeCommand('workbench.trust.manage');
  });
  return false;
}

export async function runKernel(
  server: Server,
  output: OutputChannel,
  launches: Launches,
  given: Launch | undefined,
  deed: Deed,
  memory: Memento,
): Promise<Outcome | undefined> {
  if (!mayRun()) return undefined;
  const client = await server.running();
  if (client === undefined) {
    void window.showErrorMessage('Tritium: no server is running. See the Tritium log.');
    return undefined;
  }
  const chosen = given ?? (await nearestLaunch(deed));
  if (chosen === undefined) return undefined;
  const launch = chosen.ask === true && chosen.set === undefined ? await asked(client, chosen, memory) : chosen;
  if (launch === undefined) return undefined;
  const name = launch.launch ?? launch.kernel ?? 'kernel';
  const end = launches.begin(launch, deed);
  const outcome = await window.withProgress({ location: ProgressLocation.Notification, title: `${deeds[deed].doing} ${name}`, cancellable: true }, (progress, token) =>
    execute(client, launch, deed, token, (message) => progress.report({ message })),
  );
  end(outcome);
  if (outcome === undefined) return undefined;
  output.append(`${outcome.text.trimEnd()}\n\n`);
  const line = outcome.summary ?? outcome.text.trim().split('\n', 1)[0] ?? name;
  const { block, write } = outcome;
  const choices = [...(write === undefined ? [] : [write]), 'Show Output', ...(typeof block === 'string' ? [keep] : [])];
  const toast = outcome.ok ? window.showInformationMessage(line, ...choices) : window.showErrorMessage(line, ...choices);
  void toast.then(async (choice) => {
    if (choice === keep && typeof block === 'string') await append(Uri.parse(launch.uri), block);
    else if (choice !== undefined && choice === write) await writeTuned(server, launch.uri, outcome);
    else if (choice !== undefined) output.show(true);
  });
  return outcome;
}

/** Asks for the sizes of a launch that is not wholly known: one line with every name, as it was answered last or by default. */
async function asked(client: LanguageClient, launch: Launch, memory: Memento): Promise<Launch | undefined> {
  const question = (await client.sendRequest(ExecuteCommandRequest.type, { command: 'tritium.server.ask', arguments: [launch] })) as Question;
  if (!question.ok) {
    void window.showErrorMessage(`Tritium: ${question.text ?? 'the launch cannot be entered'}`);
    return undefined;
  }
  const key = `tritium.answer ${launch.uri}#${launch.kernel ?? ''}`;
  const value = memory.get<string>(key) ?? question.names.map((free) => `${free.name}=${free.value}`).join(', ');
  const text = await window.showInputBox({ title: question.function, prompt: 'Sizes, dtypes and arguments of the function that launches the kernel', value, ignoreFocusOut: true });
  if (text === undefined) return undefined;
  await memory.update(key, text);
  return { ...launch, set: answered(text) };
}

/** `M=4096, x=f16[M, N]`: commas within brackets are part of a value. */
export function answered(text: string): Record<string, string> {
  const set: Record<string, string> = {};
  for (const part of text.split(/,(?![^[(]*[\])])/)) {
    // A condition is named by its text, which may compare.
    const at = part.search(/(?<![=<>!])=(?!=)/);
    if (at > 0) set[part.slice(0, at).trim()] = part.slice(at + 1).trim();
  }
  return set;
}

/** Writes a launch block behind the text of a file. */
async function append(uri: Uri, block: string): Promise<void> {
  const document = await workspace.openTextDocument(uri);
  const edit = new WorkspaceEdit();
  const end = document.lineAt(document.lineCount - 1).range.end;
  edit.insert(uri, end, `${end.character > 0 ? '\n' : ''}\n${block}`);
  await workspace.applyEdit(edit);
}

/** Leaves of a tuner's rows those that a tuning has found best; the text as it is now is edited, so that it can be undone. */
export async function writeTuned(server: Server, uri: string, tuning: Outcome): Promise<boolean> {
  const client = await server.running();
  if (client === undefined) return false;
  const params = { command: 'tritium.server.writeTuned', arguments: [{ uri, tuning }] };
  const answer = (await client.sendRequest(ExecuteCommandRequest.type, params)) as { ok: boolean; text?: string; edit?: ProtocolEdit };
  if (answer.edit === undefined) {
    void window.showErrorMessage(`Tritium: ${answer.text ?? 'the rows cannot be written'}`);
    return false;
  }
  return workspace.applyEdit(await client.protocol2CodeConverter.asWorkspaceEdit(answer.edit));
}

/** Counts runs: each has a progress of its own. */
let turn = 0;

/** Nothing if it was cancelled. */
export async function execute(
  client: LanguageClient,
  launch: Launch,
  deed: Deed,
  token: CancellationToken,
  tell: (doing: string) => void,
): Promise<Outcome | undefined> {
  turn += 1;
  const workDoneToken = `tritium.run.${turn}`;
  const progress = client.onProgress(WorkDoneProgress.type, workDoneToken, (value) => {
    if (value.kind === 'report' && value.message !== undefined) tell(value.message);
  });
  try {
    const params = { command: deeds[deed].command, arguments: [launch], workDoneToken };
    return (await client.sendRequest(ExecuteCommandRequest.type, params, token)) as Outcome;
  } catch (error) {
    if (token.isCancellationRequested) return undefined;
    return { ok: false, text: error instanceof Error ? error.message : String(error) };
  } finally {
    progress.dispose();
  }
}

/** The launch whose lens stands last above the cursor, or the first of the file; the person chooses among several. */
async function nearestLaunch(deed: Deed): Promise<Launch | undefined> {
  const editor = window.activeTextEditor;
  if (editor === undefined || editor.document.languageId !== 'python') {
    void window.showInformationMessage('Open a Python file with a Triton kernel to run one.');
    return undefined;
  }
  const lenses = ((await commands.executeCommand<CodeLens[]>('vscode.executeCodeLensProvider', editor.document.uri, 1000)) ?? []).filter(
    (lens) => lens.command?.command === deeds[deed].lens,
  );
  const first = lenses[0];
  if (first === undefined) {
    void window.showInformationMessage('No kernel in this file has a launch. Add a `# /// tritium` block or a simple host launch.');
    return undefined;
  }
  const cursor = editor.selection.active.line;
  const above = lenses.filter((lens) => lens.range.start.line <= cursor);
  const line = Math.max(...above.map((lens) => lens.range.start.line), -1);
  const near = above.filter((lens) => lens.range.start.line === line).map(carried);
  const choices = near.length > 0 ? near : [carried(first)];
  if (choices.length === 1) return choices[0];
  const picked = await window.showQuickPick(
    choices.map((launch) => ({ label: launch.launch ?? launch.kernel ?? 'kernel', description: launch.kernel ?? '', launch })),
    { title: deeds[deed].question },
  );
  return picked?.launch;
}

function carried(lens: CodeLens): Launch {
  return lens.command?.arguments?.[0] as Launch;
}
