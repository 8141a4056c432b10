// Edits and saves a session without end, for the tests that kill it.
//
//   session-editor FOLDER
//
// It opens the session, prints "open N" with the number of edits that it has, and prints the number of each further
// edit when it has been made.

import Foundation
import Sessions

func tell(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

do {
  let store = try SessionStore(opening: CommandLine.arguments[1])
  var number = SessionScript.count(of: store.document)
  tell("open \(number)")
  while true {
    number += 1
    try store.apply(SessionScript.edit(number, in: store.document))
    tell("\(number)")
    if number % 17 == 0 { try store.save() }
  }
} catch {
  FileHandle.standardError.write(Data("session-editor: \(error)\n".utf8))
  exit(1)
}

/// What the program does, edit by edit. `SessionKillTests` has the same script.
enum SessionScript {
  /// Returns the number of the last edit of a document. Each edit leaves its number in a name.
  static func count(of document: SessionDocument) -> Int {
    ([document.name] + document.tracks.map(\.name))
      .compactMap { Int($0.split(separator: " ").last ?? "") }.max() ?? 0
  }

  /// Returns the edit with a number: a new name of the session, a new track, or a new name of a track.
  static func edit(_ number: Int, in document: SessionDocument) throws -> SessionEdit {
    if number % 2 == 1 { return .set(try SessionPath("name"), .text("edit \(number)")) }
    if document.tracks.count < 20 {
      return .add(
        try SessionPath("tracks"),
        .table(["name": .text("track \(number)"), "file": .text("a.wav")]), at: 0)
    }
    return .set(try SessionPath("tracks[\(number / 2 % 20)].name"), .text("track \(number)"))
  }
}
