/**
 * Stages of a kernel beside its source: documents that follow the text while it is typed and the cursor in both directions.
 *
 * **A view's address says all that it shows**, so the same is never shown twice; nothing here is kept but the map of lines.
 */
import {
  commands,
  type Disposable,
  EventEmitter,
  languages,
  Range,
  type TextDocument,
  type TextDocumentContentProvider,
  type TextEditor,
  TextEditorRevealType,
  ThemeColor,
  Uri,
  ViewColumn,
  window,
  workspace,
} from 'vscode';
import type { Looks } from './looks';
import { ask, debounced, fileOf, isProblem, STAGES, type Stage, type Target } from './requests';
import type { Server } from './server';

const SCHEME = 'tritium';

export interface ViewTarget extends Target {
  stage: Stage;
}

/** `tritium:/softmax.ptx?{"uri":…}`; a view of one configuration for good has its name in front. */
export function address(target: ViewTarget): Uri {
  const name = [target.kernel ?? Uri.parse(target.uri).path.split('/').pop(), target.configuration?.replaceAll(/[/\\]/g, '_')].filter(Boolean).join(' @ ');
  return Uri.from({ scheme: SCHEME, path: `/${name}.${STAGES[target.stage].extension}`, query: JSON.stringify(target) });
}

function shownBy(uri: Uri): ViewTarget | undefined {
  if (uri.scheme !== SCHEME) return undefined;
  try {
    return JSON.parse(uri.query) as ViewTarget;
  } catch {
    return undefined;
  }
}

export class Views implements Disposable, TextDocumentContentProvider {
  private readonly changed = new EventEmitter<Uri>();
  readonly onDidChange = this.changed.event;
  /** By address: for each line of the view the lines of the source. */
  private readonly lines = new Map<string, number[][]>();
  private readonly mark = window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new ThemeColor('editor.selectionHighlightBackground'),
    overviewRulerColor: new ThemeColor('editorOverviewRuler.selectionHighlightForeground'),
  });
  private readonly later = debounced(200, (source?: string) => this.refresh(source));
  private readonly subscriptions: Disposable[];

  constructor(
    private readonly server: Server,
    looks: Looks,
  ) {
    this.subscriptions = [
      this.changed,
      this.mark,
      this.later,
      workspace.registerTextDocumentContentProvider(SCHEME, this),
      workspace.onDidChangeTextDocument(({ document }) => {
        if (document.uri.scheme === SCHEME) this.follow(window.activeTextEditor);
        else if (document.languageId === 'python') this.later(fileOf(document.uri.toString()));
      }),
      workspace.onDidCloseTextDocument(({ uri }) => {
        // A document that gets another language is closed and opened again.
        setTimeout(() => {
          if (!workspace.textDocuments.some((open) => open.uri.toString() === uri.toString())) this.lines.delete(uri.toString());
        }, 1000);
      }),
      workspace.onDidOpenTextDocument((document) => void this.dress(document)),
      window.onDidChangeTextEditorSelection(({ textEditor }) => this.follow(textEditor)),
      window.onDidChangeVisibleTextEditors(() => this.follow(window.activeTextEditor)),
      looks.onDidChange(() => this.later(undefined)),
      commands.registerCommand('tritium.showView', (stage?: Stage) => this.show(stage)),
      ...(Object.keys(STAGES) as Stage[]).map((stage) => commands.registerCommand(`tritium.show.${stage}`, () => this.show(stage))),
    ];
  }

  dispose(): void {
    for (const one of this.subscriptions) one.dispose();
  }

  async provideTextDocumentContent(uri: Uri): Promise<string> {
    const target = shownBy(uri);
    if (target === undefined) return 'Not an address of a view.';
    const view = await ask(this.server, 'tritium/view', target, { stage: target.stage });
    if (isProblem(view)) {
      this.lines.set(uri.toString(), []);
      return view.problem.split('\n').map((line) => `// ${line}`).join('\n');
    }
    this.lines.set(uri.toString(), view.lines);
    return view.text;
  }

  /** Opens a stage of the kernel at the cursor beside the source. */
  async show(given?: Stage): Promise<TextEditor | undefined> {
    const source = window.activeTextEditor;
    const from = source === undefined ? undefined : shownBy(source.document.uri);
    const stage = given ?? (await pickStage());
    if (source === undefined || stage === undefined) return undefined;
    if (from !== undefined) return this.open({ ...from, stage });
    const uri = source.document.uri.toString();
    const choices = await ask(this.server, 'tritium/choices', { uri }, { position: source.selection.active });
    if (isProblem(choices)) {
      void window.showWarningMessage(`Tritium: ${choices.problem}`);
      return undefined;
    }
    return this.open({ uri, kernel: choices.kernel ?? undefined, stage });
  }

  async open(target: ViewTarget): Promise<TextEditor> {
    const uri = address(target);
    // What is asked for again is asked anew: Triton may have run since, or a tool been installed.
    if (workspace.textDocuments.some((open) => open.uri.toString() === uri.toString())) this.changed.fire(uri);
    const document = await workspace.openTextDocument(uri);
    // Beside the source, and with the other views once there are some.
    const beside = window.visibleTextEditors.find((editor) => editor.document.uri.scheme === SCHEME)?.viewColumn;
    const editor = await window.showTextDocument(document, { viewColumn: beside ?? ViewColumn.Beside, preserveFocus: true, preview: false });
    await this.dress(document);
    this.follow(window.activeTextEditor);
    return editor;
  }

  private async dress(document: TextDocument): Promise<void> {
    const target = shownBy(document.uri);
    const language = target === undefined ? undefined : STAGES[target.stage]?.language;
    if (language !== undefined && document.languageId !== language) await languages.setTextDocumentLanguage(document, language);
  }

  private refresh(source?: string): void {
    for (const { uri } of workspace.textDocuments) {
      const target = shownBy(uri);
      if (target !== undefined && (source === undefined || fileOf(target.uri) === source)) this.changed.fire(uri);
    }
  }

  /** Marks and shows in all other editors what belongs to the line of the cursor in this one. */
  private follow(moved: TextEditor | undefined): void {
    if (moved === undefined || moved !== window.activeTextEditor) return;
    const line = moved.selection.active.line;
    const from = shownBy(moved.document.uri);
    const source = from?.uri ?? moved.document.uri.toString();
    const lines = from === undefined ? [line] : (this.lines.get(moved.document.uri.toString())?.[line] ?? []);
    for (const editor of window.visibleTextEditors) {
      const target = shownBy(editor.document.uri);
      if ((target?.uri ?? editor.document.uri.toString()) !== source) continue;
      const own = target === undefined ? lines : this.from(editor.document.uri, lines);
      // A source without a view has no marks, and none in the line where the cursor is.
      const wanted = target === undefined && from === undefined ? [] : own;
      const ranges = wanted.filter((one) => one < editor.document.lineCount).map((one) => new Range(one, 0, one, 0));
      editor.setDecorations(this.mark, ranges);
      const block = longest(wanted);
      if (block === undefined || editor === moved) continue;
      const isSeen = editor.visibleRanges.some((visible) => visible.start.line <= block && block <= visible.end.line);
      // Near the top, since what follows belongs to it too.
      const top = Math.max(0, block - 4);
      if (!isSeen) editor.revealRange(new Range(top, 0, top, 0), TextEditorRevealType.AtTop);
    }
  }

  /** The lines of a view that come from any of the lines of the source. */
  private from(view: Uri, lines: number[]): number[] {
    const wanted = new Set(lines);
    const map = this.lines.get(view.toString()) ?? [];
    // What a helper does is marked with the helper's line; the call's line marks it only if nothing else is there.
    const own = map.flatMap((places, index) => (places[0] !== undefined && wanted.has(places[0]) ? [index] : []));
    return own.length > 0 ? own : map.flatMap((places, index) => (places.some((place) => wanted.has(place)) ? [index] : []));
  }
}

/** The first line of the most lines in a row: where most of what is marked stands. */
function longest(lines: number[]): number | undefined {
  let [best, length, start] = [lines[0], 0, 0];
  lines.forEach((line, index) => {
    if (index > 0 && line !== (lines[index - 1] ?? 0) + 1) start = index;
    if (index - start + 1 > length) [best, length] = [lines[start], index - start + 1];
  });
  return best;
}

async function pickStage(): Promise<Stage | undefined> {
  const stages = Object.entries(STAGES).map(([stage, { label }]) => ({ label, stage: stage as Stage }));
  return (await window.showQuickPick(stages, { title: 'Show which stage of the kernel?' }))?.stage;
}
