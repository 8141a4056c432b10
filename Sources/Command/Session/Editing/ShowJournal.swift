import ArgumentParser
import Sessions
import System

/// `cuejack session journal`.
struct ShowJournal: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "journal", abstract: "List the edits of a session that are not saved.",
    discussion: """
      Edits of a running session, and connections that were made or ended meanwhile, are in the session's \
      journal until the session is saved. The next start restores them. `cuejack session revert` drops them. \
      To arm a recording is no edit.
      """
        + examples(
          "cuejack session journal duo"))

  @Flag(help: "Print an array of JSON objects, one for each edit.")
  var json = false

  @Argument(help: "The folder of the session.", completion: .directory)
  var folder: String

  func run() throws {
    let reading = try Session.telling { () throws(SessionError) in try SessionStore.read(folder) }
    if json {
      let list = JSONValue.list(reading.edits.map(\.json))
      print(String(decoding: list.bytes(isPretty: true), as: UTF8.self))
      return
    }
    for edit in reading.edits { Screen.shared.say(printable(edit.words)) }
    if reading.edits.isEmpty { Screen.shared.remark("\(folder): everything is saved") }
  }
}
