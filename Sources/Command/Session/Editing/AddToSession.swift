import ArgumentParser
import Sessions

/// `cuejack session add`.
struct AddToSession: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Add a track for each file.",
    discussion: onlyExamples(
      "cuejack session add duo chords.caf",
      "cuejack session add duo chords.caf --with gain=-6 --with start.beat=4"))

  @Argument(help: "The folder of the session.", completion: .directory)
  var folder: String

  @OptionGroup var tracks: TrackOptions

  func validate() throws { try check(!tracks.files.isEmpty, "give the files to add") }

  func run() throws {
    let store = try Session.open(folder)
    try tracks.check(for: store.document)
    try tracks.add(to: store)
    try Session.telling { () throws(SessionError) in try store.save() }
  }
}
