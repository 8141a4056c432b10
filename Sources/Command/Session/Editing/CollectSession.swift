import ArgumentParser
import Glibc
import Sessions
import System

/// `cuejack session collect`.
struct CollectSession: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "collect",
    abstract: "Copy sound files and SoundFonts from outside into the session's folder.",
    discussion: """
      The files go to the folder audio, under new names where a name is taken; nothing is overwritten. After \
      an interruption, the next run continues. The exit code is 1 if a file cannot be collected.
      """
        + examples(
          "cuejack session collect duo"))

  @Flag(help: "Print an array of JSON objects, one for each file.")
  var json = false

  @Argument(help: "The folder of the session.", completion: .directory)
  var folder: String

  func run() throws {
    let store = try Session.open(folder)
    let outcome = try Session.telling { () throws(SessionError) in
      let outcome = try SessionCollection(store, reasonAgainst: SoundFiles.reasonAgainstCopying).run
      {
        item in
        if json { return }
        let verb = item.wasThere ? "is already" : "copied to"
        Screen.shared.say("\(item.source) \(verb) \(item.file) (\(byteCount(item.bytes)))")
      }
      try store.save()
      return outcome
    }
    if json { try printJSON(outcome.items) }
    for remark in outcome.remarks { Screen.shared.remark(remark) }
    if !outcome.remarks.isEmpty { throw ExitCode.failure }
  }
}
