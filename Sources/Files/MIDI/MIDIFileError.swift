/// Why a Standard MIDI File cannot be read.
package struct MIDIFileError: Error, Hashable, CustomStringConvertible {
  package let path: String
  /// A sentence about the file, “it”.
  package let reason: String

  init(path: String, _ reason: String) {
    self.path = path
    self.reason = reason
  }

  package var description: String { "\(path): cannot be read as MIDI: \(reason)" }
}
