import System

/// The program that runs a plugin in a process of its own.
package struct IsolationProgram: Sendable {
  package var executable: String
  package var arguments: [String]
  /// Seconds that the plugin may take for a block that is waited for, or for an answer, before it
  /// counts as hanging.
  package var patience: Double

  /// The command `cuejack`: beside the library, as it is installed, or in PATH. Nil if it is in neither place.
  package static var installed: IsolationProgram? {
    let beside = libraryFolder.flatMap { findProgram("\($0)/../bin/cuejack") }
    return (beside ?? findProgram("cuejack")).map { IsolationProgram(executable: $0) }
  }

  /// - Parameter executable: A program that calls `PluginProcessMain.serve()` when it is given `arguments`.
  package init(
    executable: String = "/proc/self/exe", arguments: [String] = ["plugins", "host"],
    patience: Double = 10
  ) {
    self.executable = executable
    self.arguments = arguments
    self.patience = patience
  }
}
