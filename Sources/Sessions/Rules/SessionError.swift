/// An error of the session document, its files or its edits.
package enum SessionError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The text is not JSON5. Line and column count from 1.
  case syntax(file: String, line: Int, column: Int, reason: String)
  /// The values are wrong. The list has at least one error. The file is empty if the values come
  /// from an edit.
  case faults(file: String, [SessionFault])
  /// The operating system refused a call; `code` is its error number, `text` what it means.
  case system(file: String, action: String, code: Int32, text: String)
  /// A file is greater than it may be.
  case tooLarge(file: String, bytes: Int64, limit: Int64)
  /// A path leads, or could lead, out of the session's folder.
  case unsafePath(file: String, reason: String)
  /// Another process has the session open.
  case locked(folder: String)
  /// A session cannot be created where one exists.
  case exists(file: String)
  /// Another program has changed the file since it was read; `what` names the changes.
  case changedOutside(file: String, what: String)
  /// An edit was refused; the document is unchanged.
  case edit(path: String, reason: String)

  package var description: String {
    switch self {
    case .syntax(let file, let line, let column, let reason): "\(file):\(line):\(column): \(reason)"
    case .faults(let file, let faults):
      faults.map { file.isEmpty ? $0.description : "\(file): \($0)" }.joined(separator: "\n")
    case .system(let file, let action, _, let text): "cannot \(action) \(file): \(text)"
    case .tooLarge(let file, let bytes, let limit):
      "\(file): \(bytes) bytes are too many: \(limit) at most"
    case .unsafePath(let file, let reason): "\(file): \(reason)"
    case .locked(let folder): "\(folder): another process has this session open"
    case .exists(let file): "\(file) exists already"
    case .changedOutside(let file, let what):
      "\(file): another program has changed it since it was read (\(what)): it is not overwritten; take these "
        + "changes back, or move the file away, and save again"
    case .edit(let path, let reason): path.isEmpty ? reason : "\(path): \(reason)"
    }
  }
}
