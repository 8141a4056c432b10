import ArgumentParser
import Sessions

/// `cuejack session revert`.
struct RevertSession: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revert", abstract: "Drop the edits of a session that are not saved.",
    discussion: """
      The session is then as it was saved last. A session that runs is not changed: the exit code is 1.
      """
        + examples(
          "cuejack session revert duo"))

  @Argument(help: "The folder of the session.", completion: .directory)
  var folder: String

  func run() throws {
    let edits = try Session.telling { () throws(SessionError) in
      let count = try SessionStore.read(folder).edits.count
      return try SessionStore(opening: folder).revert() ? count : 0
    }
    Screen.shared.say(
      edits == 0
        ? "\(folder): everything is saved"
        : "\(folder): dropped \(edits) edit\(edits == 1 ? "" : "s")")
  }
}
