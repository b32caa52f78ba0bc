/**
 * The launches of the workspace as tests: a tree of files and launches with what came of each, in the view *Testing* and beside the `def` of its
 * kernel. To run one is to verify it; other profiles check it and time it.
 *
 * **A launch that is run through its lens shows what came of it here too.**
 */
import {
  type CancellationToken,
  Disposable,
  Location,
  Range,
  TestMessage,
  type TestController,
  type TestItem,
  type TestRun,
  TestRunProfileKind,
  TestRunRequest,
  tests,
  type TextDocument,
  Uri,
  workspace,
} from 'vscode';
import { debounced } from './requests';
import { type Deed, execute, type Launch, mayRun, type Outcome } from './run';
import type { Server } from './server';

/** What `tritium/launches` answers for a file. */
interface Found {
  kernel: string;
  launch: string;
  range: { start: { line: number; character: number }; end: { line: number; character: number } };
}

const profiles: { deed: Deed; label: string }[] = [
  { deed: 'run', label: 'Run and Verify' },
  { deed: 'sanitize', label: 'Sanitize' },
  { deed: 'bench', label: 'Bench' },
];

export class Launches implements Disposable {
  private readonly controller: TestController = tests.createTestController('tritium', 'Triton Launches');
  private readonly launches = new WeakMap<TestItem, Launch>();
  /** What came of each launch last, by its item. */
  private readonly states = new Map<string, string>();
  private readonly subscriptions: Disposable[];

  constructor(private readonly server: Server) {
    // Several documents may open at once: each is read.
    const waiting = new Set<string>();
    const later = debounced(500, () => {
      const uris = [...waiting];
      waiting.clear();
      for (const uri of uris) void this.read(Uri.parse(uri));
    });
    const changed = (document: TextDocument) => {
      if (document.languageId !== 'python' || document.uri.scheme !== 'file' || !server.isWanted) return;
      waiting.add(document.uri.toString());
      later();
    };
    this.controller.resolveHandler = (item) => (item?.uri === undefined ? this.readAll() : this.read(item.uri));
    this.controller.refreshHandler = () => this.readAll();
    for (const { deed, label } of profiles) {
      const run = (request: TestRunRequest, token: CancellationToken) => this.run(deed, request, token);
      this.controller.createRunProfile(label, TestRunProfileKind.Run, run, deed === 'run');
    }
    this.subscriptions = [
      this.controller,
      later,
      workspace.onDidOpenTextDocument(changed),
      workspace.onDidChangeTextDocument((event) => changed(event.document)),
      workspace.onDidDeleteFiles(({ files }) => files.forEach((file) => this.controller.items.delete(file.toString()))),
      server.onDidStart(() => workspace.textDocuments.forEach((document) => void (document.languageId === 'python' && this.read(document.uri)))),
    ];
  }

  dispose(): void {
    Disposable.from(...this.subscriptions).dispose();
  }

  /** A line for each launch that is known: where it stands, and what came of it last. */
  get shown(): string[] {
    const lines: string[] = [];
    this.controller.items.forEach((file) =>
      file.children.forEach((item) => void lines.push(`${file.label} ${item.label}: ${this.states.get(item.id) ?? 'unknown'}`)),
    );
    return lines;
  }

  /** Shows that a launch is run, and then what came of it; nothing of a launch that is not in the tree. */
  begin(launch: Launch, deed: Deed): (outcome: Outcome | undefined) => void {
    const file = this.controller.items.get(launch.uri);
    const item = file?.children.get(`${launch.uri}#${launch.launch}`);
    if (item === undefined) return () => {};
    const run = this.controller.createTestRun(new TestRunRequest([item]), profiles.find((profile) => profile.deed === deed)?.label, false);
    const end = this.start(run, item, deed);
    return (outcome) => {
      end(outcome);
      run.end();
    };
  }

  private start(run: TestRun, item: TestItem, deed: Deed): (outcome: Outcome | undefined) => void {
    run.started(item);
    const began = Date.now();
    return (outcome) => {
      const took = Date.now() - began;
      this.states.set(item.id, outcome === undefined ? 'cancelled' : `${deed} ${outcome.ok ? 'passed' : 'failed'}`);
      if (outcome === undefined) return run.skipped(item);
      run.appendOutput(`${outcome.text.trimEnd()}\n\n`.replace(/\r?\n/g, '\r\n'), undefined, item);
      if (outcome.summary !== undefined) item.description = outcome.summary;
      if (outcome.ok) return run.passed(item, took);
      const message = new TestMessage(outcome.text.trimEnd());
      if (item.uri !== undefined && item.range !== undefined) message.location = new Location(item.uri, item.range);
      run.failed(item, message, took);
    };
  }

  private async run(deed: Deed, request: TestRunRequest, token: CancellationToken): Promise<void> {
    const client = mayRun() ? await this.server.running() : undefined;
    if (client === undefined) return;
    const chosen: TestItem[] = [];
    const excluded = new Set(request.exclude);
    const add = async (item: TestItem): Promise<void> => {
      if (excluded.has(item)) return;
      if (this.launches.has(item)) return void chosen.push(item);
      if (item.uri !== undefined) await this.read(item.uri);
      for (const [, child] of item.children) await add(child);
    };
    const roots = request.include ?? [...this.controller.items].map(([, item]) => item);
    for (const item of roots) await add(item);
    const run = this.controller.createTestRun(request);
    for (const item of chosen) run.enqueued(item);
    // One after the other: each may take the whole machine.
    for (const item of chosen) {
      const launch = this.launches.get(item);
      if (launch === undefined || token.isCancellationRequested) {
        run.skipped(item);
        continue;
      }
      const end = this.start(run, item, deed);
      end(await execute(client, launch, deed, token, () => {}));
    }
    run.end();
  }

  /** What the files of the workspace launch that mention Triton. */
  private async readAll(): Promise<void> {
    const client = await this.server.running();
    if (client === undefined) return;
    const { files } = await client.sendRequest<{ files: string[] }>('tritium/launches', {});
    const known = new Set(files);
    this.controller.items.forEach((item) => {
      if (!known.has(item.id)) this.controller.items.delete(item.id);
    });
    for (const file of files) await this.read(Uri.parse(file));
  }

  private file(uri: Uri): TestItem {
    const id = uri.toString();
    const known = this.controller.items.get(id);
    if (known !== undefined) return known;
    const item = this.controller.createTestItem(id, workspace.asRelativePath(uri), uri);
    item.canResolveChildren = true;
    this.controller.items.add(item);
    return item;
  }

  /** What a file launches; one that launches nothing is not in the tree. */
  private async read(uri: Uri): Promise<void> {
    const client = await this.server.running();
    if (client === undefined) return;
    let found: Found[];
    try {
      found = (await client.sendRequest<{ launches: Found[] }>('tritium/launches', { textDocument: { uri: uri.toString() } })).launches;
    } catch {
      // It has been changed meanwhile, and will be asked about again.
      return;
    }
    if (found.length === 0) {
      this.controller.items.delete(uri.toString());
      return;
    }
    const file = this.file(uri);
    const items = found.map(({ kernel, launch, range: { start, end } }) => {
      const id = `${uri.toString()}#${launch}`;
      const item = file.children.get(id) ?? this.controller.createTestItem(id, launch, uri);
      item.sortText = `${String(start.line).padStart(6, '0')} ${launch}`;
      if (launch !== kernel && !launch.startsWith(`${kernel}:`)) item.label = `${kernel} · ${launch}`;
      item.range = new Range(start.line, start.character, end.line, end.character);
      this.launches.set(item, { uri: uri.toString(), launch, kernel });
      return item;
    });
    file.children.replace(items);
  }
}
