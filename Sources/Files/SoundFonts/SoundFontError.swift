/// The reason why a SoundFont cannot be used: file and reason on one line.
package struct SoundFontError: Error, Hashable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }

  init(path: String, _ reason: String) {
    self.init("\(path): cannot be used as a SoundFont: \(reason)")
  }
}
