/**
 * The channel that the talk with the server is written to.
 *
 * The language client traces only while the channel's own log level is Trace. This channel reports that level for as long
 * as `tritium.trace.server` asks for a trace, and writes what arrives at the level Info, so **the setting alone decides**.
 */
import { type Disposable, EventEmitter, LogLevel, type LogOutputChannel, workspace } from 'vscode';

export function traceChannel(log: LogOutputChannel): LogOutputChannel & Disposable {
  const wanted = () => (workspace.getConfiguration('tritium').get('trace.server', 'off') === 'off' ? LogLevel.Info : LogLevel.Trace);
  const changed = new EventEmitter<LogLevel>();
  const listener = workspace.onDidChangeConfiguration((event) => {
    if (event.affectsConfiguration('tritium.trace.server')) changed.fire(wanted());
  });
  return {
    name: log.name,
    get logLevel() {
      return wanted();
    },
    onDidChangeLogLevel: changed.event,
    trace: (message, ...args) => log.info(message, ...args),
    debug: (message, ...args) => log.debug(message, ...args),
    info: (message, ...args) => log.info(message, ...args),
    warn: (message, ...args) => log.warn(message, ...args),
    error: (message, ...args) => log.error(message, ...args),
    append: (value) => log.append(value),
    appendLine: (value) => log.appendLine(value),
    replace: (value) => log.replace(value),
    clear: () => log.clear(),
    show: () => log.show(true),
    hide: () => log.hide(),
    dispose: () => {
      listener.dispose();
      changed.dispose();
    },
  };
}
