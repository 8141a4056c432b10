import ArgumentParser
import PluginHost
import Sessions
import System

/// `cuejack session set`.
struct SetInSession: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Set values by their paths, add elements, and remove them.",
    discussion: """
      tracks[drums].gain=-6 sets a value, tracks[0].bus=null removes one or restores its default, and \
      'buses+={name: "main"}' adds an element to a list. Elements are given by their name, id or index, \
      from 0 on. tracks/1/gain is a path, too, whose elements count from 1 as in OSC addresses. \
      A value in decibels may end in dB. All values are set, or none. session.schema.json, installed in share/cuejack, lists \
      the keys.
      """
        + examples(
          "cuejack session set duo 'tracks[drums].gain=-6'",
          "cuejack session set duo 'buses+={name: \"main\", ports: [\"system:playback_1\"]}'",
          "cuejack session set duo --remove 'tracks[drums]'"))

  @Option(
    help: ArgumentHelp("Remove an element of a list. Repeatable.", valueName: "path"))
  var remove: [String] = []

  @Argument(help: "The folder of the session.", completion: .directory)
  var folder: String

  @Argument(help: ArgumentHelp("Values to set, in order.", valueName: "path=value"))
  var values: [String] = []

  func validate() throws {
    try check(!values.isEmpty || !remove.isEmpty, "give a PATH=VALUE or --remove PATH")
  }

  func run() throws {
    let store = try Session.open(folder)
    try Session.telling { () throws(SessionError) in
      var document = store.document
      var edits: [SessionEdit] = []
      for value in values {
        let edit = try SessionEdit(assignment: value, in: document)
        try document.apply(edit)
        edits.append(edit)
      }
      for path in remove {
        let edit = SessionEdit.remove(try SessionPath(typed: path))
        try document.apply(edit)
        edits.append(edit)
      }
      if document.plugins.map(\.plugin) != store.document.plugins.map(\.plugin) {
        let faults = PluginCheck(World.named).newFaults(in: document, since: store.document)
        if !faults.isEmpty { throw .faults(file: "", SessionFaults(faults).list) }
      }
      for edit in edits { try store.apply(edit) }
      try store.save()
    }
  }
}
