import Dispatch

/// Why a command does not do what it was asked, in words.
struct Refusal: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
