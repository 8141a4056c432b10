import Graph
import PluginHost
import System

/// The states of a session's plugins in new folders, on disk.
package struct StateCapture: Sendable {
  /// The folders that were written.
  package private(set) var names: [String] = []
  /// The state of each plugin from now on, by the plugin's path.
  private var states: [SessionPath: String] = [:]
  /// Remarks for the user, one for each plugin that could not save.
  package private(set) var remarks: [String] = []

  /// Seconds that all plugins have. A process that hangs is killed before that.
  private static let patience = 35.0

  private struct Board {
    var results: [Int: Result<Void, HostError>] = [:]
    var isOver = false
  }

  /// Saves the states of plugins. One that cannot save keeps the state that it has. Blocks; not on the session's
  /// thread, because a plugin may hang.
  ///
  /// - Parameters:
  ///   - folder: The session's folder, or that of a copy.
  ///   - source: The folder of the states that the plugins have.
  /// - Throws: `SessionRunError` if a state cannot be written. The new folders are removed then.
  package init(_ targets: [StateTarget], into folder: SessionFolder, from source: SessionFolder)
    throws(SessionRunError)
  {
    if targets.isEmpty { return }
    names = targets.map(\.name)
    do throws(SessionRunError) {
      var paths: [String] = []
      for target in targets {
        paths.append(
          try SessionRunError.session { () throws(SessionError) in
            try folder.pathForWriting(target.name)
          })
      }
      let results = Self.save(targets, to: paths, in: folder)
      for (index, target) in targets.enumerated() {
        switch results[index] {
        case .success?: states[target.path] = target.name
        case .failure(.unwritableState(let path, let reason))?:
          throw .host(.unwritableState(folder: path, reason: reason))
        case let failure:
          folder.removeFolder(target.name)
          var reason = "the plugin has not saved its state in \(Int(Self.patience)) seconds"
          if case .failure(let error)? = failure { reason = "\(error)" }
          try keepLast(target, because: reason, paths[index], folder, source)
        }
      }
      try SessionRunError.session { () throws(SessionError) in
        try folder.synchronize(with: "plugins")
      }
    } catch {
      for name in names { folder.removeFolder(name) }
      throw error
    }
  }

  /// Keeps the state that a plugin has: in its folder, or as a copy.
  private mutating func keepLast(
    _ target: StateTarget, because reason: String, _ path: String, _ folder: SessionFolder,
    _ source: SessionFolder
  ) throws(SessionRunError) {
    let what = "\(target.path) (“\(target.plugin.id)”): \(reason)"
    guard let last = target.plugin.state else {
      remarks.append("\(what): it has no earlier state that could be kept")
      return
    }
    remarks.append("\(what): its last state is kept")
    states[target.path] = last
    guard folder.path != source.path,
      let old = try SessionRunError.session({ () throws(SessionError) in
        try source.pathOfFolder(last)
      })
    else { return }
    try SessionRunError.host { () throws(HostError) in try PluginState.copy(old, to: path) }
    states[target.path] = target.name
  }

  /// Saves the states on other threads, and returns the results of those that are done in time.
  private static func save(
    _ targets: [StateTarget], to paths: [String], in folder: SessionFolder
  ) -> [Int: Result<Void, HostError>] {
    let board = Monitor(Board())
    @Sendable func save(_ index: Int) {
      let result: Result<Void, HostError>
      do throws(HostError) {
        result = .success(try targets[index].instance.save(to: paths[index]))
      } catch {
        result = .failure(error)
      }
      let isLate = board.change { board in
        if !board.isOver { board.results[index] = result }
        return board.isOver
      }
      if isLate { folder.removeFolder(targets[index].name) }
    }
    // Those of this process share lilv's lock.
    let isolated = targets.indices.filter { targets[$0].instance is IsolatedPlugin }
    let others = targets.indices.filter { !(targets[$0].instance is IsolatedPlugin) }
    for group in isolated.map({ [$0] }) + [others] where !group.isEmpty {
      startThread(named: "cuejack-state") { for index in group { save(index) } }
    }
    _ = board.wait(seconds: patience) { $0.results.count == targets.count ? () : nil }
    return board.change { board in
      board.isOver = true
      return board.results
    }
  }

  /// Returns a document with these states.
  package func applied(to document: SessionDocument) -> SessionDocument {
    var document = document
    for (path, state) in states {
      guard case .index(let owner) = path.steps[1], case .index(let index) = path.steps[3] else {
        continue
      }
      if path.steps[0] == .key("tracks") {
        document.tracks[owner].chain[index].state = state
      } else {
        document.buses[owner].chain[index].state = state
      }
    }
    return document
  }
}
